"""C and numba code: compilation, caching and vectorisation."""

LANES = 8
"""Number of float64 values computed side by side (`simd.py`)."""
