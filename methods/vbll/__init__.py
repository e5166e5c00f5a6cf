"""Variational Bayesian last layers."""
