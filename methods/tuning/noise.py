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
PRIOR_ROWS = 8.0
"""Number of residuals, with the variance of training, that count beside those of held-out rows.

With 6 held-out rows and none of these, the log density would cost 0.16 nats where the training's
variance is right; with 8 it costs 0.02."""
SMALLEST = 1e-12
"""Minimum variance, for residuals that are all 0."""

_GOLDEN = (math.sqrt(5) - 1) / 2


def best_noise(errors: Float[Tensor, "draws rows outputs"], trained: float) -> float:
    r"""Return the noise variance of maximal posterior density, given held-out rows.

    `errors` are targets minus the means of an equal-weight mixture of draws, and `trained` is the
    variance $v_0$ learned in training, the centre of the prior: $\nu$ residuals of this variance.
    For a single draw the result is
    $$ \frac{\nu v_0 + \sum_n e_n^2}{\nu + N}, $$
    otherwise it is found by golden-section search within a factor of 100 of `trained`.
    """
    errors = errors.double()
    if len(errors) == 1:
        squares = PRIOR_ROWS * trained + float(errors.square().sum())
        return max(squares / (PRIOR_ROWS + errors.numel()), SMALLEST)
    centre = math.log(max(trained, SMALLEST))
    low, high = centre - SPAN, centre + SPAN
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = _log_posterior(errors, left, centre), _log_posterior(errors, right, centre)
    while high - low > TOLERANCE:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = _log_posterior(errors, left, centre)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = _log_posterior(errors, right, centre)
    return math.exp((low + high) / 2)


def _log_posterior(
    errors: Float64[Tensor, "draws rows outputs"], log_variance: float, centre: float
) -> float:
    """Return the log density of the rows and of the prior's residuals, up to a constant."""
    prior = -0.5 * PRIOR_ROWS * (log_variance + math.exp(centre - log_variance))
    return float(densities(errors, log_variance).sum()) + prior


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
