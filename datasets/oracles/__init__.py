"""Real inputs with targets drawn from a known distribution, and the exact posteriors under it."""
