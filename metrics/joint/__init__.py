"""Joint scores of the targets of several points, from draws that are functions of the input."""
