"""Carries out runs: each run becomes one record."""
