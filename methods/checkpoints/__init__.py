"""Checkpoints of long fits, from which they continue."""
