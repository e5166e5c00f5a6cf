"""Layers of the factor graph: each holds the messages of the active batch at its place."""
