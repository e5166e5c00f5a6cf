"""Scores of the targets of several points together, from draws that are functions of the input."""
