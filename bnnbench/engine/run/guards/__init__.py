"""Guards of a run: nothing that a method does reaches data, other runs or scores."""
