"""Filters, warps, fractals and other operations on images, of which corruptions consist."""
