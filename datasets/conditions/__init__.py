"""Test splits: clean, corrupted, rotated, out of distribution, perturbed by noise."""
