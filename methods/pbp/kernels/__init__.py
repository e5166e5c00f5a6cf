"""The compiled filter of probabilistic backpropagation."""
