"""How C and numba code is built, cached and vectorised."""

LANES = 8
"""So many float64 are computed side by side (`simd.py`)."""
