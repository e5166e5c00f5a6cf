"""Bayesian linear regression: the exact posterior, and inference from few of its draws.

`posterior`: weights and predictive in closed form. `integrals`: averages over the weights from
some draws of them, by Monte Carlo or over the box that they span. `method`: both as methods.
"""
