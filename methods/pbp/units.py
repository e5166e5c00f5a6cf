"""Units of the targets: the filter sees each target standardised, and its posterior returns."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Problem
from bnnbench.methods.pbp.state import State


def units_of(problem: Problem) -> tuple[Float[Tensor, " outputs"], Float[Tensor, " outputs"]]:
    """Return mean and standard deviation of each training target, in float64.

    They are 0 and 1 for classes, and if the prior of the weights is stated, which has the unit of
    the targets. A constant target has its magnitude as deviation, or 1 if it is 0.
    """
    if isinstance(problem.likelihood, Categorical):
        return torch.zeros(0, dtype=torch.float64), torch.ones(0, dtype=torch.float64)
    targets = problem.train.targets.cpu().double()
    if problem.prior:
        return torch.zeros_like(targets[0]), torch.ones_like(targets[0])
    mean, std = targets.mean(0), targets.std(0, correction=0)
    std = torch.where(std > 0, std, mean.abs())
    return mean, torch.where(std > 0, std, 1.0)


def restore(state: State, mean: Float[Tensor, " outputs"], std: Float[Tensor, " outputs"]) -> None:
    """Change a posterior of standardised targets into that of the targets.

    Weights of the last layer are multiplied by the deviation; the last bias is moved by the mean.
    """
    if not len(mean):
        return
    means, variances = (state.layout.layers(values)[-1] for values in (state.mean, state.variance))
    means.mul_(std[:, None])
    means[:, -1].add_(mean * math.sqrt(means.shape[1]))
    variances.mul_(std.square()[:, None])
    state.noise[:, 1].mul_(std.square())
