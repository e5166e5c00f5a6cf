"""Deterministic variational inference: moments of weights instead of samples."""
