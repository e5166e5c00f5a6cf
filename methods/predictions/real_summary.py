"""A distribution of real targets in some twenty numbers per test row, without its draws."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, Packed, require
from bnnbench.methods.predictions.inversion import quantile
from bnnbench.methods.predictions.quantiles import LEVELS, QuantilePredictive


@dataclass(frozen=True)
class RealSummary(Packed):
    """Moments and quantiles of each row, and log density and cdf at the row's own target.

    Scores of moments, quantiles and the targets themselves need nothing else; scores of the whole
    distribution, such as the CRPS, are not answered.
    """

    mean: Float[Tensor, "points outputs"]
    std: Float[Tensor, "points outputs"]
    """Standard deviations, observation noise included."""
    standardised: Float[Tensor, "points outputs levels"]
    """Quantiles at `LEVELS`, less the mean, in standard deviations."""
    targets: Float[Tensor, "points outputs"]
    log_density: Float[Tensor, " points"]
    """Log density of the targets; a row of outputs is one event."""
    reached: Float[Tensor, "points outputs"]
    """P(y ≤ target)."""

    of_classes: ClassVar[bool] = False

    @classmethod
    def of(cls, prediction: Any, targets: Float[Tensor, "points outputs"]) -> "RealSummary":
        """Return the summary of a prediction; raises `CannotAnswer` if it lacks a part."""
        require(prediction, "mean", "variance", "log_prob", "cdf")
        mean, std = prediction.mean.double(), prediction.variance.double().sqrt()
        quantiles = torch.stack([quantile(prediction, level) for level in LEVELS], 2)
        standardised = (quantiles - mean[..., None]) / std[..., None]
        at = targets.double()
        return cls(mean, std, standardised, targets, prediction.log_prob(at), prediction.cdf(at))

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def variance(self) -> Float64[Tensor, "points outputs"]:
        """The variance of each output."""
        return self.std.double().square()

    def quantile(self, level: float) -> Float64[Tensor, "points outputs"]:
        """Return the quantiles at one of `LEVELS`; raises `CannotAnswer` at any other level."""
        values = self.mean[..., None] + self.std[..., None] * self.standardised
        levels = torch.tensor(LEVELS, dtype=torch.float64)
        return QuantilePredictive(levels, values.double()).quantile(level)

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, " points"]:
        """Return the log density of the summary's own targets; raises `CannotAnswer` for others."""
        self._require_own(target)
        return self.log_density.double()

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return the cdf at the summary's own targets; raises `CannotAnswer` for others."""
        self._require_own(target)
        return self.reached.double()

    def _require_own(self, target: Tensor) -> None:
        if target.shape != self.targets.shape or not torch.allclose(
            target.double(), self.targets.double(), rtol=1e-6
        ):
            raise CannotAnswer("a summary knows log density and cdf at its own targets only")

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "RealSummary":
        """Return the summary of mean + std * y, numbers or one of each output; std > 0."""
        unit = torch.as_tensor(std, dtype=torch.float64).expand_as(self.mean)
        return RealSummary(
            mean + unit * self.mean.double(),
            unit * self.std.double(),
            self.standardised,
            mean + unit * self.targets.double(),
            self.log_density.double() - unit.log().sum(1),
            self.reached,
        )
