"""Settings chosen on held-out training rows, by the same rule for every method."""
