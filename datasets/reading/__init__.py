"""From files to splits: downloading, verifying, unpacking, caching, standardising."""
