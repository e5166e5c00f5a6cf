"""Means and variances instead of samples: moments carried through a network in one pass."""
