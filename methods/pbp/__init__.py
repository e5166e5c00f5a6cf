"""Probabilistic backpropagation.

Source: Hernández-Lobato and Adams (2015), "Probabilistic Backpropagation for Scalable Learning
of Bayesian Neural Networks" (paper 004).
"""
