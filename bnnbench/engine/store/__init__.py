"""Records on disk: written whole, sealed, claimed, inspected, merged."""
