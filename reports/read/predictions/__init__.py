"""Scores that are computed from stored predictions when a report is written."""
