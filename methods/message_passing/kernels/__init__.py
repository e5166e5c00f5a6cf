"""Bulk operations on messages: one module per backend, all with the same functions."""
