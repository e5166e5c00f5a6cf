"""The natural gradient of a Gaussian's log score in its mean and log standard deviation."""

import math

import numpy as np
from jaxtyping import Float64

from bnnbench.methods.trees.additive import LEAST_STD

Params = Float64[np.ndarray, "rows outputs"]
"""Mean and log standard deviation of each row."""
LARGEST_STEP = 256.0
TOLERANCE = 1e-4
"""Mean length of a step below which the search for one ends."""


def natural_gradient(params: Params, targets: Float64[np.ndarray, " rows"]) -> Params:
    """Return the natural gradient of the negative log likelihood of each row."""
    error, std = targets - params[:, 0], _stds(params)
    return np.stack([-error, (1 - np.square(error / std)) / 2], 1)


def loss(params: Params, targets: Float64[np.ndarray, " rows"]) -> float:
    """Return the mean negative log likelihood of the rows."""
    std = _stds(params)
    squares = np.square((targets - params[:, 0]) / std)
    return float((0.5 * squares + np.log(std)).mean()) + 0.5 * math.log(2 * math.pi)


def step_size(params: Params, direction: Params, targets: Float64[np.ndarray, " rows"]) -> float:
    """Return a step with less loss: doubled while the loss is below the first, then halved."""

    def loss_at(step: float) -> float:
        return loss(params - step * direction, targets)

    first, step = loss(params, targets), 1.0
    while loss_at(step) <= first and step <= LARGEST_STEP:
        step *= 2
    length = float(np.linalg.norm(direction, axis=1).mean())
    while step * length >= TOLERANCE and not loss_at(step) < first:
        step /= 2
    return step


def _stds(params: Params) -> np.ndarray:
    return np.exp(np.maximum(params[:, 1], math.log(LEAST_STD)))
