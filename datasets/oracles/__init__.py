"""Real inputs with targets drawn from a known law, and the exact posteriors under that law."""
