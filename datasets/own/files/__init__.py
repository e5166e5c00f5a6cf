"""Readers of the user's files, one for each kind of file."""
