"""CIBER: collapsed inference, exact over a box of some weights and by samples over the others."""
