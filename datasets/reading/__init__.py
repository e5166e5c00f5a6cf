"""From files to splits: download, verify, unpack, cache, standardise."""
