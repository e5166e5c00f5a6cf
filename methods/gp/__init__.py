"""Gaussian processes with inducing points, using the optional package gpytorch."""
