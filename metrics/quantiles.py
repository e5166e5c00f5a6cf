r"""Scores of quantiles on a grid of levels: only of $q_k$ at $\tau_k$, not of values in between.

The pinball loss of a quantile is $\rho_\tau(u) = u (\tau - [u < 0])$ of the error u = y - q, in
target units. Its expectation is minimal if q is the quantile at its level: Koenker and Bassett
(1978), "Regression Quantiles".

The CRPS with a weight v on quantile levels, more for one tail, for both or for the centre, is

$$ 2 \int_0^1 \rho_a(y - F^{-1}(a)) v(a) da = \int_{-\infty}^y V(F(x)) dx
   + \int_y^\infty W(1 - F(x)) dx, $$

by parts, with $V(m) = 2 \int_0^m a v(a) da$ and $W(m) = 2 \int_0^m a v(1 - a) da$: no level is
left out.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Float64
from numpy.polynomial import Polynomial
from torch import Tensor

from bnnbench.methods.predictions.base import HasQuantiles, HasSamples, require
from bnnbench.metrics.thresholds import Loss, OfMass, score_by_integration, score_of_samples


def pinball_loss(
    prediction: HasQuantiles, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the pinball loss of each target, averaged over outputs and levels.

    $$ \tfrac1K \sum_k \rho_{\tau_k}(y - q_k) $$

    In target units. It depends on the levels: compare only methods with the same levels.
    Source: Koenker and Bassett (1978), "Regression Quantiles".
    """
    return _losses(prediction, target).mean((1, 2))


def crps_of_quantiles(
    prediction: HasQuantiles,
    target: Float[Tensor, "points outputs"],
    weight_up_to: Callable[[Tensor], Tensor] = torch.clone,
) -> Float64[Tensor, " points"]:
    r"""Return the CRPS of each target, twice the integral of the pinball loss over levels.

    $$ 2 \int_0^1 \rho_\tau(y - q(\tau)) d\tau \approx 2 \sum_k w_k \rho_{\tau_k}(y - q_k) $$

    The integral uses the trapezoidal rule between levels. Below the lowest level and above the
    highest, the loss of the nearest level is used, so that every quantile is scored at its own
    level and the true quantile is optimal. Levels (k - ½)/K have equal weights, and then the score
    is the CRPS of K equally probable values. In target units, averaged over outputs.
    `weight_up_to` is the weight of all levels up to one; by default they weigh equally.
    Source: Gneiting and Ranjan (2011), "Comparing density forecasts using threshold- and
    quantile-weighted scoring rules".
    """
    levels = prediction.levels.double()
    ends = torch.cat([levels.new_zeros(1), (levels[1:] + levels[:-1]) / 2, levels.new_ones(1)])
    weights = weight_up_to(ends).diff()
    return 2 * (_losses(prediction, target) * weights).sum(2).mean(1)


def _losses(prediction: HasQuantiles, target: Tensor) -> Float64[Tensor, "points outputs levels"]:
    error = target.double()[..., None] - prediction.values.double()
    return error * (prediction.levels.double() - (error < 0).double())


LEVEL = Polynomial((0, 1))


def weighted_crps(
    prediction: Any, target: Float[Tensor, "points outputs"], left: int, right: int
) -> Float64[Tensor, " points"]:
    r"""Return the CRPS with a weight for each level a, averaged over outputs.

    $$ 2 \int_0^1 \rho_a(y - F^{-1}(a)) (1 - a)^{left} a^{right} da $$

    ρ is the pinball loss. `left` 2 and `right` 0 weigh the left tail, 1 and 1 the centre, 0 and 2
    the right tail; the first, twice the second and the third add up to the CRPS. Quantiles on a
    grid are weighted as in `crps_of_quantiles`. Raises `CannotAnswer` if there is neither a cdf nor
    a grid. Source: Gneiting and Ranjan (2011), "Comparing density forecasts using threshold- and
    quantile-weighted scoring rules".
    """
    weight = (1 - LEVEL) ** left * LEVEL**right
    if isinstance(prediction, HasQuantiles):
        return crps_of_quantiles(prediction, target, _values(weight.integ()))
    below, above = (2 * LEVEL * v for v in (weight, weight(1 - LEVEL)))
    loss = Loss(_values(below.integ()), _values(above.integ()))
    if isinstance(prediction, HasSamples):
        return score_of_samples(prediction.samples, target, loss)
    require(prediction, "cdf")
    return score_by_integration(prediction, target, loss)


def _values(polynomial: Polynomial) -> OfMass:
    """Return the polynomial as a function of tensors, by Horner's scheme."""

    def value(mass: Tensor) -> Tensor:
        result = torch.zeros_like(mass)
        for coefficient in polynomial.coef[::-1].tolist():
            result = result * mass + coefficient
        return result

    return value
