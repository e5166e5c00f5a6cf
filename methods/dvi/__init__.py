"""Deterministic variational inference: moments of weights in place of samples of them."""
