"""Expectation propagation in networks with one hidden layer."""
