"""Moments of single units, one kind per file."""
