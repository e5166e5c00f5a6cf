"""Records on disk: written atomically, with checksums, leased, inspected, merged."""
