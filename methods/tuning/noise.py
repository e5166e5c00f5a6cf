"""Noise of a regression estimated on held-out rows, for methods that learn it in training.

A network that fits well underestimates the noise: its residuals on fitted rows are smaller than on
other rows.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.base import Posterior
from bnnbench.methods.predictions.predictive import GaussianPredictive

SPAN = math.log(100.0)
"""Half-width of the search range for the log variance around a first estimate."""
TOLERANCE = 1e-4
"""Tolerance of the logarithm of the variance."""
SMALLEST = 1e-12
"""Minimum variance, for residuals that are all 0."""

_GOLDEN = (math.sqrt(5) - 1) / 2


def best_noise(errors: Float[Tensor, "draws rows outputs"], start: float) -> float:
    """Return the noise variance with the maximum likelihood of held-out rows.

    `errors` are targets minus the means of an equal-weight mixture of draws. For a single draw the
    result is the mean squared error; otherwise it is found by golden-section search within a factor
    of 100 of `start`.
    """
    errors = errors.double()
    if len(errors) == 1:
        return max(float(errors.square().mean()), SMALLEST)
    centre = math.log(max(start, SMALLEST))
    low, high = centre - SPAN, centre + SPAN
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = log_likelihood(errors, left), log_likelihood(errors, right)
    while high - low > TOLERANCE:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = log_likelihood(errors, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = log_likelihood(errors, right)
    return math.exp((low + high) / 2)


def log_likelihood(errors: Float64[Tensor, "draws rows outputs"], log_variance: float) -> float:
    """Return the mean log density of rows under a mixture with this noise, in nats."""
    return float(densities(errors, log_variance).mean())


def densities(
    errors: Float64[Tensor, "draws rows outputs"], log_variance: float
) -> Float64[Tensor, " rows"]:
    """Return the log density of each row under a mixture with this noise, in nats."""
    draws, _, outputs = errors.shape
    exponents = -0.5 * errors.square().sum(2) * math.exp(-log_variance)
    normaliser = 0.5 * outputs * (math.log(2 * math.pi) + log_variance) + math.log(draws)
    return exponents.logsumexp(0) - normaliser


@dataclass(frozen=True)
class WithNoise:
    """A regression posterior with its noise variance replaced."""

    posterior: Posterior
    variance: float
    """Variance of the noise, in squared standardised target units."""

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the fit, with the noise of predictions."""
        return dict(self.posterior.diagnostics) | {"noise_std": math.sqrt(self.variance)}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return the predictive distribution of each point."""
        prediction = self.posterior.predict(inputs, rng)
        assert isinstance(prediction, GaussianPredictive)
        variances = torch.full_like(prediction.means, self.variance)
        return GaussianPredictive(prediction.means, variances)
