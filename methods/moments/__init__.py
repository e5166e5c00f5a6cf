"""Means and variances through a network: of units, of layers, and with covariances."""
