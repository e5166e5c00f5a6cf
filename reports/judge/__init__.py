"""Comparisons of scores: intervals, pairs, ranks, findings."""
