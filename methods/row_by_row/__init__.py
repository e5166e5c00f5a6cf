"""Compiled methods that update a perceptron after every row."""
