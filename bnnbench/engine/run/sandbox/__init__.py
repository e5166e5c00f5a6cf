"""Confinement of processes that run third-party code: no data files, no network (Linux)."""
