"""Approximate message passing in Bayesian neural networks. Source: paper 000."""
