"""Small problems for tests, made from a seed."""

import torch
from torch import Tensor

from bnnbench.methods.base import Problem
from bnnbench.suites.check.problems import (
    CONVOLUTIONAL,
    HIDDEN,
    classification,
    images,
    regression,
    stream,
    streams,
)

__all__ = [
    "CONVOLUTIONAL",
    "HIDDEN",
    "classification",
    "design",
    "exact_posterior",
    "images",
    "regression",
    "stream",
    "streams",
]


def design(problem: Problem) -> Tensor:
    """Return the training inputs with a column of ones, in float64, as a linear layer uses them."""
    inputs = problem.train.inputs.double()
    return torch.cat([inputs, torch.ones(len(inputs), 1, dtype=torch.float64)], dim=1)


def exact_posterior(
    problem: Problem, noise_std: float, prior_precision: float
) -> tuple[Tensor, Tensor]:
    """Return mean and precision of the weights of Bayesian linear regression."""
    rows, targets = design(problem), problem.train.targets[:, 0].double()
    identity = torch.eye(rows.shape[1], dtype=torch.float64)
    precision = rows.T @ rows / noise_std**2 + prior_precision * identity
    return torch.linalg.solve(precision, rows.T @ targets / noise_std**2), precision
