"""Filters, warps, fractals and other image operations from which corruptions are built."""
