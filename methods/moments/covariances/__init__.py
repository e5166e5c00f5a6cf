"""Moments with the covariances between units."""
