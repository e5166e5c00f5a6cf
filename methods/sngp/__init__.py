"""Spectral-normalised neural Gaussian processes."""
