"""Figures as inline SVG, one kind per file."""
