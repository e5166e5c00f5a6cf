"""Measurements of posteriors in addition to the scores of predictions."""
