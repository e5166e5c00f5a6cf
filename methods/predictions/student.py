"""Student's t as a predictive distribution: a Gaussian of unknown variance."""

import math
from dataclasses import dataclass
from typing import ClassVar

import scipy.special
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import Packed
from bnnbench.methods.predictions.predictive import in_chunks


@dataclass(frozen=True)
class StudentPredictive(Packed):
    """An equal-weight mixture of location-scale t distributions, one component per draw.

    Everything is computed in float64. Outputs are independent.
    """

    locations: Float[Tensor, "draws points outputs"]
    scales: Float[Tensor, "draws points outputs"]
    """Scales in units of the target, positive; not standard deviations."""
    degrees: Float[Tensor, "draws points outputs"]
    """Degrees of freedom; the variance is infinite for 2 or less."""

    of_classes: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.locations.shape[1]

    @property
    def mean(self) -> Float64[Tensor, "points outputs"]:
        """The mean of the mixture."""
        return in_chunks(lambda locations: locations.double().mean(0), self.locations)

    @property
    def variance(self) -> Float64[Tensor, "points outputs"]:
        """The variance of the mixture: mean of variances plus variance of means."""
        return in_chunks(_variance, self.locations, self.scales, self.degrees)

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, " points"]:
        """Return the log density of each target; a row of outputs is one event."""
        return in_chunks(_log_prob, self.locations, self.scales, self.degrees, target[None])

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return P(y ≤ target) of each output."""
        return in_chunks(_cdf, self.locations, self.scales, self.degrees, target[None])

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "StudentPredictive":
        """Return the distribution of mean + std * y, numbers or one of each output."""
        return StudentPredictive(
            mean + std * self.locations.double(), std * self.scales.double(), self.degrees
        )


def _variance(locations: Tensor, scales: Tensor, degrees: Tensor) -> Tensor:
    degrees = degrees.double()
    factors = torch.where(degrees > 2, degrees / (degrees - 2), math.inf)
    between = locations.double().var(0, correction=0)
    return (scales.double().square() * factors).mean(0) + between


def _log_prob(locations: Tensor, scales: Tensor, degrees: Tensor, target: Tensor) -> Tensor:
    degrees, scales = degrees.double(), scales.double()
    z = (target.double() - locations) / scales
    half = (degrees + 1) / 2
    constant = half.lgamma() - (degrees / 2).lgamma() - 0.5 * (math.pi * degrees).log()
    each = constant - scales.log() - half * (z.square() / degrees).log1p()
    return each.sum(-1).logsumexp(0) - math.log(len(each))


def _cdf(locations: Tensor, scales: Tensor, degrees: Tensor, target: Tensor) -> Tensor:
    z = (target.double() - locations) / scales
    below = scipy.special.stdtr(degrees.double().cpu().numpy(), z.cpu().numpy())
    return torch.from_numpy(below).to(z.device).mean(0)
