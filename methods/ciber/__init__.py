"""CIBER: collapsed inference, exact over a box of weights and by samples over the others."""
