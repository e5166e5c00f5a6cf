"""Groups of examples whose messages know of each other."""
