"""Searches for the settings of suites, on held-out training rows."""
