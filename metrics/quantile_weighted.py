r"""The CRPS with a weight on quantile levels: more for one tail, for both or for the centre.

$$ 2 \int_0^1 \rho_a(y - F^{-1}(a)) v(a) da = \int_{-\infty}^y V(F(x)) dx
   + \int_y^\infty W(1 - F(x)) dx, $$

by parts, with $V(m) = 2 \int_0^m a v(a) da$ and $W(m) = 2 \int_0^m a v(1 - a) da$: no level is
left out.
"""

from typing import Any

import torch
from jaxtyping import Float, Float64
from numpy.polynomial import Polynomial
from torch import Tensor

from bnnbench.methods.predictions.base import HasQuantiles, HasSamples, require
from bnnbench.metrics.quantiles import crps_of_quantiles
from bnnbench.metrics.thresholds import Loss, OfMass, score_by_integration, score_of_samples

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
