"""Expectation propagation in networks of one hidden layer."""
