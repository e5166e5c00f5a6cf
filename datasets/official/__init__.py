"""The official data sets, one source per file."""
