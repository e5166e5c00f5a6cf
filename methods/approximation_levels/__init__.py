"""Approximations of one small posterior, each swapped for the next one at a time."""
