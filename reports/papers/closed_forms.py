"""Printed numbers with a closed form, recomputed without any run."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from bnnbench.methods.ciber.method import NEAREST
from bnnbench.methods.integration.integrals import with_noise
from bnnbench.methods.integration.region import Affine, Box, Rectified
from bnnbench.reports.papers.published import Published, table_number


@dataclass(frozen=True)
class ClosedForm:
    """A recomputed number, and how it was computed."""

    value: float
    how: str
    cause: str = ""
    """The reason for a different printed number, if known."""

    def agrees(self, published: Published) -> bool:
        """Return whether it equals the printed number up to rounding in the last printed place."""
        return abs(self.value - published.value) <= 0.5 * 10.0**-published.decimals * (1 + 1e-9)


def closed_form(published: Published) -> ClosedForm | None:
    """Return a printed number, recomputed; None if it has no closed form."""
    compute = FORMULAS.get((published.paper, table_number(published.table), published.method))
    return compute(published) if compute else None


SLOPE = 2 * math.log(19)
"""Table 1 of paper 001: a unit whose errors at the corners of the square are 5 %."""


def conjunction(published: Published) -> ClosedForm:
    """Return the mean of the product of two independent binary variables."""
    p, q = _inputs(published)
    return ClosedForm(p * q, "the product of both probabilities")


def mean_of_gate(published: Published) -> ClosedForm:
    """Return the mean of a logistic unit over the four values of two binary inputs."""
    (p, q), mean = _inputs(published), 0.0
    for a, b in itertools.product((0, 1), repeat=2):
        mean += (p if a else 1 - p) * (q if b else 1 - q) * _unit(a + b)
    return ClosedForm(mean, "the sum over the four values of the inputs")


def gate_of_means(published: Published) -> ClosedForm:
    """Return a logistic unit at its mean inputs, as propagated by AP1."""
    return ClosedForm(_unit(sum(_inputs(published))), "the unit at the means of its inputs")


def warm_up(published: Published) -> ClosedForm:
    """Return density or mean of y at x = 1, for a ReLU of a weight that is uniform on ±3.

    The integral is taken with gradients, thus in PyTorch: compiling it takes longer than a report.
    """
    (one,) = ones = torch.ones(1, dtype=torch.float64)
    unit = Rectified(0 * one, ones, Affine(0 * ones, ones[None]))
    noisy = with_noise(unit, Box(-3 * ones, 3 * ones), NEAREST * one)
    if published.metric == "expectation":
        return ClosedForm(float(noisy.mean), "the mean of the unit over the weight")
    cause = "the printed number is near the density of a linear unit, without the ReLU"
    how = "the integral of the triangle over the weight"
    return ClosedForm(noisy.density(one.requires_grad_()).item(), how, cause)


Compute = Callable[[Published], ClosedForm]
FORMULAS: Mapping[tuple[str, str, str], Compute] = {
    ("001", "1", "e[x1 and x2] (exact)"): conjunction,
    ("001", "1", "logistic model (exact expectation)"): mean_of_gate,
    ("001", "1", "ap1"): gate_of_means,
    ("002", "sec 3", "wmi with triangular predictive"): warm_up,
}
"""Paper, table and method → the function that computes its numbers."""


def _inputs(published: Published) -> tuple[float, float]:
    return float(published.protocol["p1"]), float(published.protocol["p2"])


def _unit(total: float) -> float:
    return 1 / (1 + math.exp(-SLOPE * (total - 1.5)))
