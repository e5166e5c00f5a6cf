"""Epistemic neural networks with an epinet."""
