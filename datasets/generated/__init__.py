"""Sources drawn from a known distribution by a seed, without files."""
