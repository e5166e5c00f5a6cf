r"""The CRPS of a prediction that has a cdf, from nothing else.

$$ \int_{-\infty}^y F(x)^2 dx + \int_y^\infty (1 - F(x))^2 dx, \qquad x = m + s \sinh t $$

m is the median and s a distance that holds about half of the mass. In t an algebraic tail decays
exponentially, so that few panels reach its end.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, HasCdf
from bnnbench.methods.predictions.inversion import centre_and_scale, half_mass, root_of_cdf
from bnnbench.metrics.quadrature import integrate

TAIL = 1e-12
"""Mass of each tail beyond the panels; 1 - F has not many more digits."""
FARTHEST = 64.0
"""The largest |t|, where x is 3e27 s from the median. A tail that has more mass beyond has an
infinite score, unless the cdf is constant there up to its rounding."""
ROUNDING = 1e-5
"""Largest mass that a cdf may lack by rounding, as in single precision."""
MOST_ERROR = 1e-2
"""Largest relative error that is a score: for cdfs with hundreds of steps."""
PANELS = 3
"""Panels on either side of the target from which the quadrature starts."""


def crps_by_integration(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the score of each target, averaged over outputs, to a relative error of 1e-7.

    No moments need to exist. The integral is infinite if the mass of a tail beyond x falls no
    faster than $x^{-1/2}$, as for Student's t with half a degree of freedom or fewer; right above
    this limit the error is 3e-5. A cdf with hundreds of steps is integrated less accurately; raises
    `CannotAnswer` if the estimated error exceeds 1 %.
    """
    target = target.double()
    centre, scale = centre_and_scale(prediction, target)
    median = root_of_cdf(prediction.cdf, 0.5, centre, scale)
    scale = half_mass(prediction.cdf, median, scale)
    # A point mass of one half or more at the median has no width: the rest of the mass has.
    scale = scale.maximum(1e-9 * half_mass(prediction.cdf, median, scale, 1 - ROUNDING))

    def at(t: Tensor) -> Tensor:
        return median + scale * t.sinh()

    below = _Tail(lambda t: prediction.cdf(at(-t)), scale)
    above = _Tail(lambda t: 1 - prediction.cdf(at(t)), scale)
    turn = ((target - median) / scale).asinh()
    inside = turn.maximum(-below.end).minimum(above.end)

    def integrand(t: Tensor, middle: Tensor) -> Tensor:
        cdf = prediction.cdf(at(t))
        mass = torch.where(middle < inside, cdf - below.missing, 1 - cdf - above.missing)
        return mass.square() * t.cosh()

    edges = torch.cat([_edges(-below.end, inside), _edges(inside, above.end)[1:]])
    value, error = integrate(integrand, edges)
    score = scale * value + (target - at(inside)).abs() + below.beyond + above.beyond
    if (scale * error > MOST_ERROR * score).any():
        raise CannotAnswer("its cdf cannot be integrated to within 1 %: is it monotone?")
    return score.mean(1)


class _Tail:
    """The end of the panels on one side of the median, and what lies beyond it."""

    def __init__(self, mass: Callable[[Tensor], Tensor], scale: Tensor) -> None:
        """`mass` is the mass beyond t, in the direction of this tail."""
        farthest = torch.full_like(scale, FARTHEST)
        far, nearer = mass(farthest), mass(farthest / 2)
        is_rounding = (far.abs() < ROUNDING) & (far >= 0.5 * nearer)
        self.missing = torch.where(is_rounding, far, 0.0)
        self._mass = mass
        self.end = _end(self.mass, farthest)
        last, earlier = self.mass(self.end), self.mass(self.end / 2)
        self.beyond = _beyond(last, earlier, self.end, scale)
        self.end = torch.where(self.beyond.isinf(), 0.0, self.end)

    def mass(self, t: Tensor) -> Tensor:
        """Return the mass beyond t."""
        return self._mass(t) - self.missing


def _end(mass: Callable[[Tensor], Tensor], farthest: Tensor) -> Tensor:
    """Return a t beyond which at most the mass `TAIL` lies, at most 1/16 too far."""
    low, high = torch.zeros_like(farthest), farthest
    for _ in range(10):
        middle = (low + high) / 2
        is_end = mass(middle) <= TAIL
        low, high = torch.where(is_end, low, middle), torch.where(is_end, middle, high)
    return high


def _beyond(last: Tensor, earlier: Tensor, end: Tensor, scale: Tensor) -> Tensor:
    r"""Return the integral of the squared mass beyond the end, for a tail that is a power of x.

    $$ \int_x^\infty c^2 u^{-2 a} du = \frac{x (c x^{-a})^2}{2 a - 1} $$
    """
    index = (earlier / last).log() / (end / 2)
    rest = scale * end.sinh() * last.square() / (2 * index - 1)
    return torch.where(last > 0, torch.where(index > 0.5, rest, math.inf), 0.0)


def _edges(start: Tensor, end: Tensor) -> Tensor:
    shares = torch.linspace(0, 1, PANELS + 1, dtype=start.dtype).tolist()
    return torch.stack([start.lerp(end, share) for share in shares])
