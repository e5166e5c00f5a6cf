r"""A histogram with half-normal tails: the output of networks that predict bars of a target.

Source: Müller et al. (2022), "Transformers Can Do Bayesian Inference", section 4.1 and appendix E
(the Riemann distribution with tails).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import Packed

MEDIAN = float(torch.special.ndtri(torch.tensor(0.75, dtype=torch.float64)))
"""Median of a half-normal of scale 1: the outer bars hold half of the mass of their tails."""


@dataclass(frozen=True)
class BarPredictive(Packed):
    """A density that is constant between borders; the outer bars are half-normal tails.

    It has one output. A tail starts at the inner border of its bar, and half of its mass is inside
    the bar. Raises ValueError unless borders increase and probabilities sum to 1.
    """

    borders: Float[Tensor, " borders"]
    log_bars: Float[Tensor, "points bars"]
    """Log of the probability of each bar, a tail being one."""

    of_classes: ClassVar[bool] = False
    may_be_infinite: ClassVar[tuple[str, ...]] = ("log_bars",)

    def __post_init__(self) -> None:
        if not (self.borders.diff() > 0).all() or len(self.borders) != self.log_bars.shape[1] + 1:
            raise ValueError(
                "needed increasing borders, one more than bars; got "
                f"{len(self.borders)} borders and {self.log_bars.shape[1]} bars"
            )
        sums = self.log_bars.double().logsumexp(1)
        if (sums.abs() > 1e-3).any():
            raise ValueError(
                f"needed probabilities that sum to 1; got a sum of {float(sums.exp().max()):.6g}"
            )

    def __len__(self) -> int:
        return len(self.log_bars)

    @property
    def mean(self) -> Float64[Tensor, "points 1"]:
        """The mean of the bars' means."""
        return (self._bars @ self._moments[0])[:, None]

    @property
    def variance(self) -> Float64[Tensor, "points 1"]:
        """The variance: mean of variances plus variance of means of the bars."""
        means, variances = self._moments
        return (self._bars * (variances + (means - self.mean).square())).sum(1, keepdim=True)

    def log_prob(self, target: Float[Tensor, "points 1"]) -> Float64[Tensor, " points"]:
        """Return the log density of each target."""
        places, z = self._places(target.double()[:, 0])
        tail = math.log(2) - 0.5 * (z.square() + math.log(2 * math.pi)) - self._scales[places].log()
        inside = -self.borders.double().diff()[places].log()
        outer = (places == 0) | (places == self.log_bars.shape[1] - 1)
        bars = self._bars.log().gather(1, places[:, None])[:, 0]
        return bars + torch.where(outer, tail, inside)

    def cdf(self, target: Float[Tensor, "points 1"]) -> Float64[Tensor, "points 1"]:
        """Return P(y ≤ target)."""
        at = target.double()[:, 0]
        places, z = self._places(at)
        last = self.log_bars.shape[1] - 1
        within = (at - self.borders.double()[places]) / self.borders.double().diff()[places]
        root = math.sqrt(2)
        within = torch.where(places == 0, torch.erfc(z / root), within)
        within = torch.where(places == last, torch.erf(z / root), within)
        sums = torch.nn.functional.pad(self._bars.cumsum(1), (1, 0))
        below, bar = (part.gather(1, places[:, None])[:, 0] for part in (sums, self._bars))
        return (below + within * bar)[:, None].clamp(0, 1)

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "BarPredictive":
        """Return the distribution of mean + std * y, for numbers or tensors of one; std > 0."""
        return BarPredictive(mean + std * self.borders.double(), self.log_bars)

    @property
    def _bars(self) -> Float64[Tensor, "points bars"]:
        return self.log_bars.double().softmax(1)

    @property
    def _scales(self) -> Float64[Tensor, " bars"]:
        """Scale of a half-normal in each bar, of use in the outer ones."""
        return self.borders.double().diff() / MEDIAN

    @property
    def _moments(self) -> tuple[Float64[Tensor, " bars"], Float64[Tensor, " bars"]]:
        """Mean and variance of each bar."""
        borders, widths, scales = self.borders.double(), self.borders.double().diff(), self._scales
        means, variances = (borders[1:] + borders[:-1]) / 2, widths.square() / 12
        shift = math.sqrt(2 / math.pi) * scales
        means[0], means[-1] = borders[1] - shift[0], borders[-2] + shift[-1]
        for end in (0, -1):
            variances[end] = (1 - 2 / math.pi) * scales[end].square()
        return means, variances

    def _places(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return each target's bar, and its distance from the start of a tail, in scales."""
        borders = self.borders.double()
        places = torch.searchsorted(borders, target.contiguous(), right=True) - 1
        places = places.clamp(0, self.log_bars.shape[1] - 1)
        start = torch.where(places == 0, borders[1], borders[-2])
        return places, (target - start).abs() / self._scales[places]
