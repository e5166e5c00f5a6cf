"""Scores of a prediction against draws of whole functions from a reference posterior."""
