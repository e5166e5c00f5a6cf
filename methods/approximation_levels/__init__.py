"""Approximations of one small posterior, introduced one at a time."""
