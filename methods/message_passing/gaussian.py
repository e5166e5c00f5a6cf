"""Messages and marginals: scaled Gaussian densities in natural parameters."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

LEAST_PRECISION = 1e-8
"""The minimum precision of messages that a layer divides by."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and variance, elementwise over any shape."""

    mean: Float[Tensor, "*shape"]
    variance: Float[Tensor, "*shape"]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """G(tau, rho), elementwise over any shape: tau = mean/variance, rho = 1/variance.

    The uniform message is G(0, 0) and has no mean; callers check for it first. A message is
    valid if both numbers are finite and rho >= 0. Source: paper 000, equation 3.
    """

    tau: Float[Tensor, "*shape"]
    rho: Float[Tensor, "*shape"]

    @classmethod
    def of(cls, mean: Tensor, variance: Tensor) -> "Gaussian":
        """Return N(mean, variance); the variance must be positive."""
        rho = variance.reciprocal()
        return cls(mean * rho, rho)

    @classmethod
    def uniform(cls, *shape: int, pattern: Tensor) -> "Gaussian":
        """Return G(0, 0) of the given shape, with the type and device of `pattern`."""
        return cls(pattern.new_zeros(shape), pattern.new_zeros(shape))

    @property
    def mean(self) -> Tensor:
        """tau/rho; NaN for a uniform message."""
        return self.tau / self.rho

    @property
    def variance(self) -> Tensor:
        """1/rho; infinite for a uniform message."""
        return self.rho.reciprocal()

    @property
    def shape(self) -> torch.Size:
        """The shape of both tensors."""
        return self.rho.shape

    def __mul__(self, other: "Gaussian") -> "Gaussian":
        return Gaussian(self.tau + other.tau, self.rho + other.rho)

    def __truediv__(self, other: "Gaussian") -> "Gaussian":
        return Gaussian(self.tau - other.tau, self.rho - other.rho)

    def __getitem__(self, index: Any) -> "Gaussian":
        return Gaussian(self.tau[index], self.rho[index])

    def moved(self, towards: "Gaussian", step: float) -> "Gaussian":
        """Return G((1 - step) tau + step tau', (1 - step) rho + step rho')."""
        return Gaussian(
            torch.lerp(self.tau, towards.tau, step), torch.lerp(self.rho, towards.rho, step)
        )

    def floored(self, least: float = LEAST_PRECISION) -> "Gaussian":
        """Return the message with the same mean and a precision of at least `least`.

        The uniform message becomes N(0, 1/least).
        """
        factor = torch.where(self.rho > 0, (least / self.rho).clamp_min(1.0), 1.0)
        return Gaussian(self.tau * factor, self.rho.clamp_min(least))

    def is_proper(self) -> Tensor:
        """Return which members' numbers are all finite, with positive precisions."""
        tau, rho = self.tau.flatten(1), self.rho.flatten(1)
        ends = torch.stack([tau.amin(1), tau.amax(1), rho.amax(1)])  # NaN if any is NaN
        return ends.isfinite().all(0) & (rho.amin(1) > 0)

    def is_valid(self) -> Tensor:
        """Return where both numbers are finite and the precision is not negative."""
        return self.tau.isfinite() & self.rho.isfinite() & (self.rho >= 0)
