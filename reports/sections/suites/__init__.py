"""Sections that one kind of suite has."""
