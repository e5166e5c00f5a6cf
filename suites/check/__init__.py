"""The contract of all methods, as checks on small problems."""
