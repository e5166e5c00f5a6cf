"""Summaries of what was recorded beside scores: costs, coverage, searches, runs still needed."""
