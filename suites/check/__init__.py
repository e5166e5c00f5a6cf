"""The contract that every method keeps, as checks on small problems."""
