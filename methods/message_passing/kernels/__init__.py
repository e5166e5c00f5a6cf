"""Bulk operations on messages, one backend per module, all of the same functions."""
