"""Student's t as a predictive distribution: a Gaussian of unknown variance."""

import math
from dataclasses import dataclass
from typing import ClassVar

import scipy.special
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import Packed


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
        return self.locations.double().mean(0)

    @property
    def variance(self) -> Float64[Tensor, "points outputs"]:
        """The variance of the mixture: mean of variances plus variance of means."""
        degrees = self.degrees.double()
        factors = torch.where(degrees > 2, degrees / (degrees - 2), math.inf)
        between = self.locations.double().var(0, correction=0)
        return (self.scales.double().square() * factors).mean(0) + between

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, " points"]:
        """Return the log density of each target; a row of outputs is one event."""
        degrees, scales = self.degrees.double(), self.scales.double()
        z = (target.double() - self.locations) / scales
        half = (degrees + 1) / 2
        constant = half.lgamma() - (degrees / 2).lgamma() - 0.5 * (math.pi * degrees).log()
        each = constant - scales.log() - half * (z.square() / degrees).log1p()
        return each.sum(-1).logsumexp(0) - math.log(len(each))

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return P(y ≤ target) of each output."""
        z = (target.double() - self.locations) / self.scales
        below = scipy.special.stdtr(self.degrees.double().cpu().numpy(), z.cpu().numpy())
        return torch.from_numpy(below).to(z.device).mean(0)

    def rescaled(self, mean: float, std: float) -> "StudentPredictive":
        """Return the distribution of mean + std * y."""
        return StudentPredictive(
            mean + std * self.locations.double(), std * self.scales.double(), self.degrees
        )
