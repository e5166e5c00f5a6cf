"""Predictions compared with a known function, far from the data: paper 000, section 5.1."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import HasCdf
from bnnbench.metrics.credible import OUTSIDE


@dataclass(frozen=True)
class KnownFunction:
    """The true function at the test inputs; its values are standardised like targets."""

    position: Float64[Tensor, " points"]
    """The only input, in original units."""
    truth: Float64[Tensor, " points"]


def cdf_at_each(prediction: HasCdf, truth: Float[Tensor, "points 1"]) -> Float64[Tensor, " points"]:
    r"""Return the predictive cdf at the true function, at each point.

    $$ P(y_n \le f(x_n)) $$

    The cdf includes the noise, although the function does not.
    """
    return prediction.cdf(truth)[:, 0].double()


def cdf_at_truth(prediction: HasCdf, function: KnownFunction, side: float) -> Float64[Tensor, ""]:
    r"""Return the median of the predictive cdf at the true function, far on one side of the data.

    $$ \operatorname{median}_{n:\, s x_n > 10} P(y_n \le f(x_n)), \qquad s = \pm 1 $$

    The cdf includes the noise, although the function does not. A central interval of mass p
    contains the function if the cdf is within p / 2 of one half. Raises ValueError if no position
    is that far from the data.
    """
    selected = side * function.position > OUTSIDE
    if not selected.any():
        raise ValueError(f"no position to score: the test inputs must extend beyond ±{OUTSIDE:g}")
    cdf = prediction.cdf(function.truth[:, None])[:, 0].double()
    return torch.quantile(cdf[selected], 0.5)
