"""Tables, runs, pairs and trials as files for other programs."""
