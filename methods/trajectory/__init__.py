"""Posteriors from the iterates of stochastic gradient descent."""
