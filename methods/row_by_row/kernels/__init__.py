"""The compiled loops over rows."""
