"""Data points for figures, in addition to predictions: curves, planes, and their files."""
