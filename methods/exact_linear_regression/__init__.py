"""Bayesian linear regression: the exact posterior, and inference from few of its draws.

`posterior`: weights and predictive in closed form. `integrals`: averages over the weights, given
some draws, by Monte Carlo or over the box that the draws span. `method`: both as methods.
"""
