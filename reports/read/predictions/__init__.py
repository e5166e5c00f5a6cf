"""Scores computed from stored predictions when a report is written."""
