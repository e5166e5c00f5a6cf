"""Figures that one kind of suite has."""
