"""Means and variances instead of samples: moments propagated through a network in one pass."""
