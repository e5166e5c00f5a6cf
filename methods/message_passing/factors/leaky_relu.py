r"""The factor $\delta(a - \mathrm{LeakyReLU}_\alpha(z))$. Source: paper 000, appendix B.2.

A slope of 0 is the ReLU of appendix B.1: the same formulas hold.
"""

from dataclasses import dataclass
from math import inf, log, pi

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bnnbench.methods.message_passing.factors.double import narrowed, where, widened
from bnnbench.methods.message_passing.factors.truncation import Truncated, cdf, truncated
from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian

LEAST_LOG_MASS = {"forward": log(1e-8), "backward": -700.0}
"""The log of the joint density below which two messages contradict each other."""
TOLERANCE = 1e-5
"""At equality the forward precision is the sum of both; this keeps rounding from deciding."""
WEAK = 2e-8
"""A negative backward message below this precision is too weak to inform a unit."""
DEGENERATE = 1e8
"""A ReLU that is off is the point 0, represented by this many times the precision of z."""


def direct(z: Gaussian, slope: float) -> Gaussian:
    """Return the Gaussian with the moments of LeakyReLU(z); uniform where z is.

    Source: paper 000, equations 6 and 7, in sums of positive terms.
    """
    return narrowed(_direct(widened(z), slope), z)


def forward(z: Gaussian, a: Gaussian, slope: float) -> tuple[Gaussian, Bool[Tensor, "*shape"]]:
    """Return the message to a, and where a guard replaced it although a is informative.

    The message is the marginal of a, moment-matched, divided by the message from a. The `direct`
    message replaces it where z and a contradict each other (density of both below 1e-8), where a
    would be less certain than z and a together, and where it is not finite. It also replaces it
    where a is uniform, or nearly so (behind a maximum that another input attains), and where a
    ReLU is certainly off. In these cases nothing is lost and nothing is counted.
    """
    wide_z, wide_a = widened(z), widened(a)
    marginal = _Marginal.of(wide_z, wide_a, slope)
    exact = marginal.forward(wide_z, wide_a)
    message = narrowed(exact, z)
    point = exact.rho > (DEGENERATE if slope == 0 else inf) * (wide_z.rho + wide_a.rho)
    usable = (
        (marginal.log_mass >= LEAST_LOG_MASS["forward"])
        & (exact.rho >= wide_z.rho * (1 - TOLERANCE))
        & message.is_valid()
        & ~point
    )
    counted = ~usable & ~point & (wide_a.rho > LEAST_PRECISION)
    return where(usable, message, narrowed(_direct(wide_z, slope), z)), counted


def backward(z: Gaussian, a: Gaussian, slope: float) -> tuple[Gaussian, Bool[Tensor, "*shape"]]:
    """Return the message to z, and where a guard replaced it although a is not uniform.

    The marginal of z, moment-matched, divided by the message from z. A precision below 1e-8,
    often a negative one, becomes 1e-8 at the same marginal mean. N(0, 1e8) replaces the message
    where z and a contradict each other, where a is negative and almost uninformative, and where
    it is not finite.
    """
    wide_z, wide_a = widened(z), widened(a)
    marginal = _Marginal.of(wide_z, wide_a, slope)
    exact, mean = marginal.backward(wide_z, wide_a)
    low = exact.rho < LEAST_PRECISION
    floored = Gaussian(
        torch.where(low, exact.tau + mean * (LEAST_PRECISION - exact.rho), exact.tau),
        exact.rho.clamp_min(LEAST_PRECISION),
    )
    message = narrowed(floored, z)
    usable = (
        (marginal.log_mass >= LEAST_LOG_MASS["backward"])
        & ~((wide_a.tau < 0) & (wide_a.rho < WEAK))
        & message.is_valid()
    )
    nothing = Gaussian(torch.zeros_like(message.tau), torch.full_like(message.rho, LEAST_PRECISION))
    return where(usable, message, nothing), (~usable | low) & (a.rho != 0)


def _direct(z: Gaussian, slope: float) -> Gaussian:
    proper = z.rho > 0
    root = torch.where(proper, z.rho, 1.0).sqrt()
    x = z.tau / root
    far = truncated(-x.abs())
    tail = cdf(-x.abs())  # the mass on the other side of 0
    first = tail * far.mean
    spread = tail * (far.variance + far.mean.square() * (1 - tail))
    bend = 1 - slope
    positive = x > 0
    mean = torch.where(positive, x, slope * x) + bend * first
    variance = torch.where(positive, 1 - 2 * bend * tail, slope**2 + 2 * slope * bend * tail) + (
        bend**2 * spread
    )
    variance = variance.clamp_min(slope**2 if slope > 0 else 1 / DEGENERATE)
    return Gaussian(
        torch.where(proper, mean * root / variance, 0.0),
        torch.where(proper, z.rho / variance, 0.0),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of 0: the distance t = |z| is distributed as N(x/root, 1/root²) given t > 0."""

    weight: Float[Tensor, "*shape"]
    precision: Float[Tensor, "*shape"]
    root: Float[Tensor, "*shape"]
    x: Float[Tensor, "*shape"]
    unit: Truncated

    @property
    def mean(self) -> Tensor:
        return self.unit.mean / self.root

    @property
    def variance(self) -> Tensor:
        return self.unit.variance / self.precision

    def mean_without(self, removed: Tensor, remaining: Tensor) -> Tensor:
        """Return mean - removed * variance without cancellation; x root = removed + remaining."""
        above = (
            remaining + removed * self.unit.lost
        ) / self.precision + self.unit.hazard / self.root
        return torch.where(self.x > 0, above, self.mean - removed * self.variance)

    def certainty_without(self, removed: Tensor, remaining: Tensor) -> Tensor:
        """Return 1 - removed * variance without cancellation; precision = removed + remaining."""
        return (remaining + removed * self.unit.lost) / self.precision


@dataclass(frozen=True, slots=True)
class _Marginal:
    """The product of both messages: a mixture of two truncated Gaussians in z."""

    slope: float
    plus: _Side
    minus: _Side
    log_mass: Float[Tensor, "*shape"]

    @classmethod
    def of(cls, z: Gaussian, a: Gaussian, slope: float) -> "_Marginal":
        plus_precision, minus_precision = z.rho + a.rho, z.rho + slope**2 * a.rho
        plus_root, minus_root = plus_precision.sqrt(), minus_precision.sqrt()
        x_plus, x_minus = (z.tau + a.tau) / plus_root, -(z.tau + slope * a.tau) / minus_root
        plus, minus = truncated(x_plus), truncated(x_minus)
        odds = (
            _log_scaled_mass(x_plus, plus.hazard)
            - _log_scaled_mass(x_minus, minus.hazard)
            + (minus_root / plus_root).log()
        )
        plus_weight, minus_weight = 1 / (1 + (-odds).exp()), 1 / (1 + odds.exp())
        # The density of the larger side, divided by its share, is the whole density.
        larger_slope = torch.where(odds > 0, 1.0, slope)
        variance = larger_slope.square() / z.rho + 1 / a.rho
        apart = larger_slope * z.mean - a.mean
        log_mass = (
            torch.special.log_ndtr(torch.where(odds > 0, x_plus, x_minus))
            - torch.maximum(plus_weight, minus_weight).log()
            - 0.5 * (apart.square() / variance + (2 * pi * variance).log())
        )
        return cls(
            slope,
            _Side(plus_weight, plus_precision, plus_root, x_plus, plus),
            _Side(minus_weight, minus_precision, minus_root, x_minus, minus),
            log_mass,
        )

    def forward(self, z: Gaussian, a: Gaussian) -> Gaussian:
        """Return the exact quotient of the marginal of a by the message from a."""
        plus, minus, slope = self.plus, self.minus, self.slope
        apart = plus.weight * minus.weight * (plus.mean + slope * minus.mean).square()
        variance = plus.weight * plus.variance + minus.weight * (slope**2 * minus.variance) + apart
        tau = (
            plus.weight * plus.mean_without(a.tau, z.tau)
            - minus.weight * (slope * minus.mean_without(-slope * a.tau, -z.tau))
            - a.tau * apart
        )
        rho = (
            plus.weight * plus.certainty_without(a.rho, z.rho)
            + minus.weight * minus.certainty_without(slope**2 * a.rho, z.rho)
            - a.rho * apart
        )
        return Gaussian(tau / variance, rho / variance)

    def backward(self, z: Gaussian, a: Gaussian) -> tuple[Gaussian, Tensor]:
        """Return the exact quotient of the marginal of z by the message from z, and its mean."""
        plus, minus, slope = self.plus, self.minus, self.slope
        apart = plus.weight * minus.weight * (plus.mean + minus.mean).square()
        variance = plus.weight * plus.variance + minus.weight * minus.variance + apart
        tau = (
            plus.weight * plus.mean_without(z.tau, a.tau)
            - minus.weight * minus.mean_without(-z.tau, -slope * a.tau)
            - z.tau * apart
        )
        rho = (
            plus.weight * plus.certainty_without(z.rho, a.rho)
            + minus.weight * minus.certainty_without(z.rho, slope**2 * a.rho)
            - z.rho * apart
        )
        mean = plus.weight * plus.mean - minus.weight * minus.mean
        return Gaussian(tau / variance, rho / variance), mean


def _log_scaled_mass(x: Tensor, hazard: Tensor) -> Tensor:
    """Return log Φ(x) + x²/2 + log √(2π), in which no large terms cancel for negative x."""
    above = torch.special.log_ndtr(x) + 0.5 * x.square() + 0.5 * log(2 * pi)
    return torch.where(x > 0, above, -hazard.log())
