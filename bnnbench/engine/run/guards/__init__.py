"""Guards of a run: they keep a method from changing data, other runs or scores."""
