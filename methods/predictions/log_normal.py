"""The log-normal distribution as a predictive, for targets above a known lower end."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import Packed


@dataclass(frozen=True)
class LogNormalPredictive(Packed):
    r"""$y = a + e^{m + s z}$ with a standard normal z, at each point; outputs are independent.

    Everything is computed in float64.
    """

    ends: Float[Tensor, "points outputs"]
    """The lower ends a, below which there is no target."""
    log_means: Float[Tensor, "points outputs"]
    """The means m of log(y - a)."""
    log_stds: Float[Tensor, "points outputs"]
    """The standard deviations s of log(y - a), positive."""

    of_classes: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def mean(self) -> Float64[Tensor, "points outputs"]:
        r"""The mean, $a + e^{m + s^2 / 2}$."""
        return self.ends.double() + self.excess

    @property
    def variance(self) -> Float64[Tensor, "points outputs"]:
        r"""The variance, $e^{2 m + s^2} (e^{s^2} - 1)$."""
        return self.excess.square() * self.log_stds.double().square().expm1()

    @property
    def excess(self) -> Float64[Tensor, "points outputs"]:
        """The mean above the lower end."""
        return (self.log_means.double() + self.log_stds.double().square() / 2).exp()

    def z(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return (log(y - a) - m) / s; minus infinity up to the lower end, NaN for NaN."""
        above = (target.double() - self.ends).clamp(min=0)
        return (above.log() - self.log_means) / self.log_stds.double()

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, " points"]:
        """Return the log density of each target; a row of outputs is one event."""
        z, stds = self.z(target), self.log_stds.double()
        log_above = self.log_means.double() + stds * z
        density = -0.5 * z.square() - log_above - stds.log() - 0.5 * math.log(2 * math.pi)
        return torch.where(z.isneginf(), -math.inf, density).sum(-1)

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return P(y ≤ target) of each output."""
        return 0.5 * torch.special.erfc(-self.z(target) / math.sqrt(2))

    def quantile(self, level: float) -> Float64[Tensor, "points outputs"]:
        """Return the value below which a share `level` of the mass lies."""
        z = torch.special.ndtri(torch.tensor(level, dtype=torch.float64)).item()
        return self.ends.double() + (self.log_means.double() + z * self.log_stds.double()).exp()

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "LogNormalPredictive":
        """Return the distribution of mean + std * y, numbers or one of each output, std > 0."""
        log_std = torch.as_tensor(std, dtype=torch.float64, device=self.ends.device).log()
        return LogNormalPredictive(
            mean + std * self.ends.double(), self.log_means.double() + log_std, self.log_stds
        )
