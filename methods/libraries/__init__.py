"""Unmodified methods of other libraries: rows "library: method" next to this project's."""
