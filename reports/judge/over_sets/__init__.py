"""Decisions, grades and the regret of advice with data sets as random."""
