"""Probabilistic backpropagation in plain PyTorch, one equation after another.

The reference for tests of the compiled filter, and its replacement if numba is missing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.pbp import multinomial
from bnnbench.methods.pbp.independent import Head
from bnnbench.methods.pbp.kernels.constants import (
    KEPT_NOISE_UPDATES,
    LARGEST_CAVITY_VARIANCE,
    REJECTED_UPDATES,
    SKIPPED_REFINEMENTS,
    SMALLEST_VARIANCE,
)
from bnnbench.methods.pbp.propagation import units_with
from bnnbench.methods.pbp.state import State


def gamma_update(shape: float, rate: float, square: float, variance: float) -> tuple[float, float]:
    """Return shape and rate after eq. 9 and 10 for Z_j = N(r; 0, v + b/(a - 1 + j)).

    `square` is r². Differences of logarithms of nearly equal numbers are computed by `log1p`.
    """
    s0, s1, s2 = (variance + rate / (shape - 1 + j) for j in range(3))
    first = rate / (shape * (shape - 1))  # s0 - s1
    second = rate / (shape * (shape + 1))  # s1 - s2
    l10 = 0.5 * (math.log1p(first / s1) - square * first / (s0 * s1))
    l21 = 0.5 * (math.log1p(second / s2) - square * second / (s1 * s2))
    try:
        shape_new = 1 / (math.exp(l21 - l10) * (shape + 1) / shape - 1)
        rate_new = 1 / (math.exp(l21) * (shape + 1) / rate - math.exp(l10) * shape / rate)
    except (OverflowError, ZeroDivisionError):  # an outlier of some hundred standard deviations
        return math.nan, math.nan
    return shape_new, rate_new


def is_gamma(shape: float, rate: float) -> bool:
    """Return whether the reciprocal of this Gamma variable has a finite mean."""
    return 1 < shape < math.inf and 0 < rate < math.inf


@dataclass
class Filter:
    """Updates of one posterior by its training rows; inputs come from `with_bias`."""

    state: State
    inputs: Float[Tensor, "points columns"]
    targets: Float[Tensor, "points outputs"] | Int[Tensor, " points"]
    covariances: bool = False
    """True: moments include the covariances of a layer's units."""

    def take(self, order: Int[Tensor, " rows"]) -> float:
        """Process the rows in this order, one update each; return the sum of -log Z."""
        return sum(self._take_row(row) for row in order.tolist())

    def _take_row(self, row: int) -> float:
        state, target = self.state, self.targets[row]
        means, variances = state.layout.layers(state.mean), state.layout.layers(state.variance)
        head = partial(self._gaussian if target.dim() else _categorical, target)
        inputs = self.inputs[row, : state.layout.widths[0]]
        units = units_with(self.covariances)
        loss, by_weights = units.gradients(means, variances, inputs, head)
        for m, v, (of_mean, of_variance) in zip(means, variances, by_weights, strict=True):
            mean_new = m + v * of_mean
            variance_new = v - v.square() * (of_mean.square() - 2 * of_variance)
            accepted = (variance_new > SMALLEST_VARIANCE) & ~mean_new.isnan()
            m.copy_(torch.where(accepted, mean_new, m))
            v.copy_(torch.where(accepted, variance_new, v))
            state.counts[REJECTED_UPDATES] += (~accepted).sum()
        return loss

    def _gaussian(self, target: Tensor, mean: Tensor, variance: Tensor) -> Head:
        """Return -log Z and its derivatives (eq. 12), and update the noise (eq. 9, 10)."""
        state = self.state
        total, error = variance + state.noise_variance, target - mean
        loss = 0.5 * (error.square() / total + (2 * math.pi * total).log()).sum()
        for o in range(len(target)) if state.learns_noise else ():
            shape, rate = state.noise[o].tolist()
            new = gamma_update(shape, rate, float(error[o].square()), float(variance[o]))
            if is_gamma(*new):
                state.noise[o] = torch.tensor(new, dtype=torch.float64)
            else:
                state.counts[KEPT_NOISE_UPDATES] += 1
        return float(loss), error / total, 0.5 * (error.square() / total.square() - 1 / total)

    def refine(self) -> None:
        """Refine the prior factor of every weight, layer by layer and unit by unit, bias last."""
        state = self.state
        values = (
            state.mean,
            state.variance,
            state.factor_precision,
            state.factor_shape,
            state.factor_rate,
        )
        shape, rate = state.prior.tolist()
        for views in zip(*(state.layout.layers(value) for value in values), strict=True):
            weights = torch.stack([view.flatten() for view in views], dim=1).tolist()
            for place, weight in enumerate(weights):
                refined = _refined(weight, shape, rate)
                if refined is None:
                    state.counts[SKIPPED_REFINEMENTS] += 1
                else:
                    *weights[place], shape, rate = refined
            columns = torch.tensor(weights, dtype=torch.float64).T
            for view, column in zip(views, columns, strict=True):
                view.copy_(column.view(view.shape))
        state.prior[:] = torch.tensor([shape, rate], dtype=torch.float64)


def _categorical(target: Tensor, mean: Tensor, variance: Tensor) -> Head:
    """Return -log Z of a label and its derivatives, by automatic differentiation."""
    with torch.enable_grad():
        mean, variance = mean.detach().requires_grad_(), variance.detach().requires_grad_()
        log_z = multinomial.log_probabilities(mean[None], variance[None])[0, target]
        of_mean, of_variance = torch.autograd.grad(log_z, (mean, variance))
    return -float(log_z.detach()), of_mean, of_variance


def _refined(
    weight: Sequence[float], prior_shape: float, prior_rate: float
) -> tuple[float, ...] | None:
    """Return mean, variance, factor, and the Gamma's shape and rate, or None to skip.

    The prior is exact for a Gaussian with precision (a - 1)/b, where a and b are the cavity's.
    """
    m, v, precision, shape, rate = weight
    cavity_precision = 1 / v - precision
    a, b = prior_shape - shape, prior_rate + rate
    if not (1 / LARGEST_CAVITY_VARIANCE < cavity_precision < math.inf and is_gamma(a, b)):
        return None
    cavity_variance = 1 / cavity_precision
    cavity_mean = cavity_variance * m / v
    new_a, new_b = gamma_update(a, b, cavity_mean * cavity_mean, cavity_variance)
    if not (math.isfinite(new_a) and math.isfinite(new_b)):
        return None
    pull = (a - 1) / b
    variance = 1 / (cavity_precision + pull)
    mean = cavity_mean * variance / cavity_variance
    return mean, variance, pull, new_a - a, b - new_b, new_a, new_b
