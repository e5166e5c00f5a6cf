r"""Expected log likelihoods of regression under Gaussian outputs, in closed form.

Source: Wu et al. (2019), "Deterministic Variational Inference for Robust Bayesian Neural
Networks", section 4.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.correlated import CorrelatedMoments

LOG_TWO_PI = math.log(2 * math.pi)
MOST_LOG_VARIANCE = 60.0
"""Largest log variance of the noise in a prediction: a deviation of 1e13 targets' deviations."""


@dataclass(frozen=True)
class MeanAndLogVariance:
    """Network outputs for each target: mean m and log variance l, jointly normal."""

    mean: Float[Tensor, "members points outputs"]
    mean_variance: Float[Tensor, "members points outputs"]
    log: Float[Tensor, "members points outputs"]
    log_variance: Float[Tensor, "members points outputs"]
    covariance: Float[Tensor, "members points outputs"]
    """Covariance of m and l."""

    @classmethod
    def of(cls, y: Moments | CorrelatedMoments) -> "MeanAndLogVariance":
        """Return the two halves of a network's outputs; independent units have no covariance."""
        assert y.variance is not None
        (mean, log), (spread, log_spread) = y.mean.chunk(2, -1), y.variance.chunk(2, -1)
        if isinstance(y, Moments):
            return cls(mean, spread, log, log_spread, torch.zeros_like(mean))
        first = torch.arange(mean.shape[-1], device=mean.device)
        return cls(mean, spread, log, log_spread, y.between(first, first + len(first)))

    def expected_losses(
        self, targets: Float[Tensor, "members points outputs"]
    ) -> Float[Tensor, "members points"]:
        r"""Return $-E[\log N(y; m, e^l)]$ summed over outputs, in nats.

        $$ \tfrac12 \left[\log 2\pi + \mu_l + (v_m + (\mu_m - c_{ml} - y)^2)
           e^{-\mu_l + v_l / 2}\right], $$

        since $e^{-l}$ shifts the mean of m by its covariance with l, and changes no variance.
        """
        squares = self.mean_variance + (self.mean - self.covariance - targets).square()
        precision = (self.log_variance / 2 - self.log).exp()
        return 0.5 * (LOG_TWO_PI + self.log + squares * precision).sum(-1)

    def variance(self) -> Float[Tensor, "members points outputs"]:
        r"""Return the variance of each target, $v_m + E[e^l] = v_m + e^{\mu_l + v_l / 2}$.

        The exponent grows with the square of an input that is far from all training rows; it is
        limited to `MOST_LOG_VARIANCE`, so that the variance stays finite in single precision.
        """
        of_noise = (self.log + self.log_variance / 2).clamp(max=MOST_LOG_VARIANCE)
        return self.mean_variance + of_noise.exp()


def expected_squares(
    y: Moments | CorrelatedMoments, targets: Float[Tensor, "members points outputs"]
) -> Float[Tensor, "members points outputs"]:
    """Return the expected squared residuals."""
    assert y.variance is not None
    return y.variance + (y.mean - targets).square()


def expected_losses(
    squares: Float[Tensor, "members points outputs"],
    noise_variance: Float[Tensor, " members"],
) -> Float[Tensor, "members points"]:
    r"""Return $-E[\log N(y; m, s)]$ summed over outputs, in nats, given expected squares."""
    noise = noise_variance[:, None, None]
    return 0.5 * (LOG_TWO_PI + noise.log() + squares / noise).sum(-1)
