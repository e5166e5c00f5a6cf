r"""Scores that are integrals over thresholds, computed from nothing but a cdf.

$$ \int_{-\infty}^y b(F(x)) dx + \int_y^\infty a(1 - F(x)) dx, \qquad x = m + s \sinh t $$

m is the median and s a distance that holds about half of the mass. In t an algebraic tail decays
exponentially, so that few panels reach its end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, HasCdf
from bnnbench.methods.predictions.inversion import centre_and_scale, half_mass, root_of_cdf
from bnnbench.methods.predictions.predictive import in_chunks
from bnnbench.metrics.quadrature import Function, integrate

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

OfMass = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Loss:
    """The two functions of a score: both increase with the mass, from 0 for none."""

    below: OfMass
    """b, of the mass below a threshold, for thresholds below the target."""
    above: OfMass
    """a, of the mass above a threshold, for thresholds above the target."""


def score_by_integration(
    prediction: HasCdf, target: Float[Tensor, "points outputs"], loss: Loss
) -> Float64[Tensor, " points"]:
    r"""Return the score of each target, averaged over outputs, to a relative error of 1e-7.

    No moments need to exist. The integral is infinite if the loss of a tail beyond x falls no
    faster than $x^{-1}$. A cdf with hundreds of steps is integrated less accurately; raises
    `CannotAnswer` if the estimated error exceeds 1 %.
    """
    target = target.double()
    law = Substitution(prediction, target, loss)
    inside = law.turn.maximum(-law.below.end).minimum(law.above.end)

    def integrand(t: Tensor, middle: Tensor) -> Tensor:
        cdf = prediction.cdf(law.at(t))
        below = loss.below(cdf - law.below.missing)
        above = loss.above(1 - cdf - law.above.missing)
        return torch.where(middle < inside, below, above) * t.cosh()

    one = torch.ones((), dtype=torch.float64)
    outside = target - law.at(inside)
    beyond = outside.clamp(min=0) * loss.below(one) - outside.clamp(max=0) * loss.above(one)
    return law.score(integrand, -law.below.end, inside, law.above.end, beyond)


class Substitution:
    """The substitution of thresholds x by t for each target, with the ends of both tails."""

    def __init__(self, prediction: HasCdf, target: Tensor, loss: Loss) -> None:
        centre, scale = centre_and_scale(prediction, target)
        self.median = root_of_cdf(prediction.cdf, 0.5, centre, scale)
        scale = half_mass(prediction.cdf, self.median, scale)
        # A point mass of one half or more at the median has no width: the rest of the mass has.
        narrowest = half_mass(prediction.cdf, self.median, scale, 1 - ROUNDING)
        self.scale = scale.maximum(1e-9 * narrowest)
        self.below = _Tail(lambda t: prediction.cdf(self.at(-t)), loss.below, self.scale)
        self.above = _Tail(lambda t: 1 - prediction.cdf(self.at(t)), loss.above, self.scale)
        self.turn = ((target - self.median) / self.scale).asinh()

    def at(self, t: Tensor) -> Tensor:
        """Return the thresholds."""
        return self.median + self.scale * t.sinh()

    def score(
        self, integrand: Function, start: Tensor, turn: Tensor, end: Tensor, beyond: Tensor | float
    ) -> Float64[Tensor, " points"]:
        """Return the integral over t and both tails plus `beyond`, averaged over outputs."""
        edges = torch.cat([_edges(start, turn), _edges(turn, end)[1:]])
        value, error = integrate(integrand, edges)
        score = self.scale * value + beyond + self.below.beyond + self.above.beyond
        if (self.scale * error > MOST_ERROR * score).any():
            raise CannotAnswer("its cdf cannot be integrated to within 1 %: is it monotone?")
        return score.mean(1)


class _Tail:
    """The end of the panels on one side of the median, and what lies beyond it."""

    def __init__(self, mass: OfMass, loss: OfMass, scale: Tensor) -> None:
        """`mass` is the mass beyond t, in the direction of this tail."""
        farthest = torch.full_like(scale, FARTHEST)
        far, nearer = mass(farthest), mass(farthest / 2)
        is_rounding = (far.abs() < ROUNDING) & (far >= 0.5 * nearer)
        self.missing = torch.where(is_rounding, far, 0.0)
        self._mass = mass
        self.end = _end(self.mass, farthest)
        last, earlier = loss(self.mass(self.end)), loss(self.mass(self.end / 2))
        self.beyond = _beyond(last, earlier, self.end, scale)
        self.end = torch.where(self.beyond.isinf(), 0.0, self.end)

    def mass(self, t: Tensor) -> Tensor:
        """Return the mass beyond t."""
        return self._mass(t) - self.missing


def _end(mass: OfMass, farthest: Tensor) -> Tensor:
    """Return a t beyond which at most the mass `TAIL` lies, at most 1/16 too far."""
    low, high = torch.zeros_like(farthest), farthest
    for _ in range(10):
        middle = (low + high) / 2
        is_end = mass(middle) <= TAIL
        low, high = torch.where(is_end, low, middle), torch.where(is_end, middle, high)
    return high


def _beyond(last: Tensor, earlier: Tensor, end: Tensor, scale: Tensor) -> Tensor:
    r"""Return the integral of the loss beyond the end, for a tail that is a power of x.

    $$ \int_x^\infty c u^{-k} du = \frac{x \, c x^{-k}}{k - 1} $$
    """
    power = (earlier / last).log() / (end / 2)
    rest = scale * end.sinh() * last / (power - 1)
    return torch.where(last > 0, torch.where(power > 1, rest, math.inf), 0.0)


def _edges(start: Tensor, end: Tensor) -> Tensor:
    shares = torch.linspace(0, 1, PANELS + 1, dtype=start.dtype).tolist()
    return torch.stack([start.lerp(end, share) for share in shares])


def score_of_samples(
    samples: Float[Tensor, "draws points outputs"],
    target: Float[Tensor, "points outputs"],
    loss: Loss,
) -> Float64[Tensor, " points"]:
    """Return the score of each target under the empirical distribution of its samples."""
    share = torch.arange(len(samples) + 1, dtype=torch.float64, device=samples.device)
    share = share[:, None, None] / len(samples)
    below, above = loss.below(share), loss.above(1 - share)

    def score(some: Tensor, rows: Tensor) -> Tensor:
        steps, rows = some.double().sort(0).values, rows.double()
        lengths = torch.cat([steps.minimum(rows), rows]).diff(dim=0)
        of_below = torch.where(lengths > 0, below[1:] * lengths, 0.0).sum(0)
        lengths = torch.cat([rows, steps.maximum(rows)]).diff(dim=0)
        return of_below + torch.where(lengths > 0, above[:-1] * lengths, 0.0).sum(0)

    return in_chunks(score, samples, target[None]).mean(1)
