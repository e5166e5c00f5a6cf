"""Variational structured dropout: Gaussian noise at the inputs of dense layers, rotated."""
