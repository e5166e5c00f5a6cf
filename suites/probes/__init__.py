"""Measurements of posteriors beside the scores of predictions."""
