"""Scores recomputed, or computed for the first time, from stored predictions."""
