"""Layers of the factor graph; each holds its messages of the active batch."""
