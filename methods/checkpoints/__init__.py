"""Checkpoints from which long fits continue."""
