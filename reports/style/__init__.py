"""Colours, labels and numbers as people read them."""
