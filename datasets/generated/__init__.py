"""Sources drawn from a known law by a seed, with no files."""
