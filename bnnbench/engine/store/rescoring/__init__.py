"""Scores computed again, or for the first time, from stored predictions."""
