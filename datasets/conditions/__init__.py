"""Test splits: clean, corrupted, rotated, out of distribution, moved by noise."""
