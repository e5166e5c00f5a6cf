"""Gaussians around a trained network's weights, from the curvature of its likelihood."""
