"""All compiled code. It is imported by what runs it, on first use, since it needs numba."""
