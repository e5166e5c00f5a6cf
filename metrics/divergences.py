r"""Divergences of an estimated density from the exact one, at each point.

Integrals are sums over the nodes of an even grid beyond which both densities vanish; they are exact
to rounding for densities that are smooth on the scale of a step.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor


@dataclass(frozen=True)
class OnGrid:
    """The log of a density at equally spaced nodes; minus infinity where it is 0."""

    log_density: Float64[Tensor, "points nodes"]
    step: Float64[Tensor, " points"]


def kl_to_exact(estimate: OnGrid, exact: OnGrid) -> Float64[Tensor, " points"]:
    r"""Return $KL(q \| p) = \int q \log (q / p)$ at each point, in nats; q is the estimate.

    It is also defined for an estimate with bounded support.
    """
    return _relative_entropy(estimate, exact)


def kl_from_exact(estimate: OnGrid, exact: OnGrid) -> Float64[Tensor, " points"]:
    r"""Return $KL(p \| q) = \int p \log (p / q)$ at each point, in nats; q is the estimate.

    It is infinite for an estimate that is 0 where the exact density is not.
    """
    return _relative_entropy(exact, estimate)


def total_variation(estimate: OnGrid, exact: OnGrid) -> Float64[Tensor, " points"]:
    r"""Return $\tfrac12 \int |q - p|$ at each point: the maximum error of a probability."""
    gap = estimate.log_density.exp() - exact.log_density.exp()
    return 0.5 * gap.abs().sum(1) * exact.step


def logistic_error(
    estimate: Float64[Tensor, " points"], exact: Float64[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return the absolute error of a mean of the logistic function."""
    return (estimate - exact).abs()


def cubic_error(
    estimate: Float64[Tensor, " points"], exact: Float64[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return the absolute error of a mean of the cubic that replaces the logistic function."""
    return logistic_error(estimate, exact)


def _relative_entropy(of: OnGrid, beside: OnGrid) -> Float64[Tensor, " points"]:
    density = of.log_density.exp()
    terms = torch.where(density > 0, density * (of.log_density - beside.log_density), 0.0)
    return terms.sum(1) * of.step
