"""Bulk operations on messages, one backend per file, all of the same functions."""
