"""Sources drawn from a known law by a seed, without files."""
