"""Summaries of records other than scores: costs, coverage, searches, runs still needed."""
