"""Models of two units for tests: two with published rungs, and a linear one.

An independent program printed its rows, prior means and rungs to three or four digits.
"""

from collections.abc import Mapping

import torch

from bnnbench.methods.approximation_levels.two_units import TwoUnits

X = torch.linspace(-1, 1, 6, dtype=torch.float64)
TEST = torch.arange(-3, 4, dtype=torch.float64)
TARGETS = (
    (0.3251, 0.1536, 0.1881, 0.1810, 0.3729, 0.8723),
    (0.3691, 0.3443, 0.1261, -0.1006, 0.6611, 0.8893),
)
MEANS = (
    (1.3040, 0.9471, 0, 0, -0.3519, -0.6327, 0),
    (-0.5370, 0.5811, 0, 0, 0.1823, 0.1471, 0),
)
VARIANCES = (1.5, 1.5, 0.5, 0.5, 0.6447, 0.6447, 0.5)

Scores = tuple[float, float, float]
"""Deviation of the function inside, and its divergence inside and at all test inputs."""
PRINTED: Mapping[str, tuple[Scores | None, Scores]] = {
    "1a": ((0.790, 0.276, 0.361), (0.762, 0.240, 0.289)),
    "1c": (None, (0.703, 0.198, 0.253)),
    "1d": (None, (0.715, 0.210, 0.264)),
    "2": ((0.508, 0.119, 0.180), (0.512, 0.095, 0.136)),
    "3": ((0.480, 0.110, 0.156), (0.487, 0.087, 0.118)),
    "4": ((0.480, 0.110, 0.156), (0.487, 0.087, 0.118)),
    "5": ((0.363, 0.045, 0.058), (0.381, 0.037, 0.046)),
}
EXACT_STDS = (0.248, 0.264)
WEIGHT_STDS = {
    "0": (1.120, 1.065, 0.682, 0.687, 0.625, 0.712, 0.278),
    "2": (1.055, 1.000, 0.593, 0.573, 0.482, 0.600, 0.191),
    "5": (0.982, 0.851, 0.578, 0.542, 0.296, 0.474, 0.183),
}
"""Standard deviations of the first model's weights, by rung."""


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def printed(draw: int) -> TwoUnits:
    """Return a model with published rungs."""
    return TwoUnits(X, vector(*TARGETS[draw]), vector(*MEANS[draw]), vector(*VARIANCES), 0.16, 0.1)


def linear(known: float = 1e-14) -> tuple[TwoUnits, torch.Tensor, torch.Tensor]:
    """Return a linear model with known second weights, and its posterior.

    The posterior is that of linear regression on w, b and c: mean and covariance of all weights.
    """
    mean = vector(0.4, -0.2, 0.1, 0.0, 1.2, -0.7, 0.3)
    variance = vector(1.5, 0.8, 0.5, 0.6, known, known, 0.5)
    model = TwoUnits(X, vector(*TARGETS[0]), mean, variance, 0.16, 1.0)
    one, nothing = torch.ones_like(X), torch.zeros_like(X)
    v = mean[4:6]
    columns = v[0] * X, v[1] * X, v[0] * one, v[1] * one, nothing, nothing, one
    design = torch.stack(columns, 1)
    precision = design.mT @ design / 0.16 + (1 / variance).diag()
    covariance = torch.linalg.inv(precision)
    return model, covariance @ (design.mT @ model.y / 0.16 + mean / variance), covariance
