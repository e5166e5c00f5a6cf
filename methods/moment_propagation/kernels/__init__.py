"""Moments of rectifiers and their gradients in one pass over memory, one backend per file."""
