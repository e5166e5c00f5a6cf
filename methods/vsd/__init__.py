"""Variational structured dropout: rotated Gaussian noise at the inputs of dense layers."""
