"""Gaussian processes with inducing points, by the optional package gpytorch."""
