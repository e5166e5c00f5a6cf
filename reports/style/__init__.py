"""Colours, labels and numbers for readers."""
