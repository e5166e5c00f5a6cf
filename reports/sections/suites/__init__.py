"""Sections specific to one kind of suite."""
