"""Architectures as data, their shapes, and the torch modules made from them."""
