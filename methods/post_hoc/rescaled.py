r"""A regression whose predictive variance is multiplied by one number.

The counterpart of temperature scaling for real targets: the number is chosen by the likelihood of
rows that the fit has not seen. Source: Kuleshov, Fenner and Ermon (2018), "Accurate Uncertainties
for Deep Learning Using Calibrated Regression", for the problem; the single number is that of Levi
et al. (2022), "Evaluating and Calibrating Uncertainty Prediction in Regression Tasks".
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    Problem,
    Unsupported,
)
from bnnbench.methods.card import Card
from bnnbench.methods.post_hoc.around import Around, TwoFits, fit_twice
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.rows import checksum, stream
from bnnbench.methods.tuning.temperature import PRIOR_PRECISION, WIDEST


@dataclass(frozen=True)
class RescaledPosterior:
    """A posterior whose predictive variances, noise included, are multiplied by a factor."""

    posterior: Posterior
    factor: float

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the fit to all rows, and the factor."""
        return dict(self.posterior.diagnostics) | {"variance_factor": self.factor}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point and output, with the mixture's mean and variance."""
        prediction = gaussian(self.posterior.predict(inputs, rng))
        return GaussianPredictive(prediction.means, self.factor * prediction.variances)


@dataclass(frozen=True)
class Rescaled(Around):
    """A regression with one number that widens or narrows its predictive distribution.

    It is chosen by a fifth of the training rows, predicted by a fit to the other rows, or by the
    calibration rows if there are any. Few rows leave it near 1. Means do not change; a mixture
    becomes the Gaussian with its moments.
    """

    card: ClassVar[Card] = Card(
        problems=("mlp regression", "linear regression", "cnn regression"),
        around="one factor of its predictive variance is fitted to held-out rows",
    )

    method: Method = field(default_factory=AdamW)
    """The regression and its settings."""

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` for classes."""
        if isinstance(problems[0].likelihood, Categorical):
            raise Unsupported("Rescaled needed real targets; got classes: use Tempered")
        fits = fit_twice(self.method, problems, rngs)
        return [_rescaled(*pair) for pair in zip(problems, fits, strict=True)]


def _rescaled(
    problem: Problem, fits: TwoFits | InferenceDiverged
) -> RescaledPosterior | InferenceDiverged:
    if isinstance(fits, InferenceDiverged):
        return fits
    case = fits.case
    draws = stream("factor", checksum(problem.train), device=case.inputs.device)
    prediction = gaussian(case.in_original_units(fits.partial.predict(case.inputs, draws)))
    squares = (case.block.targets - prediction.means[0]).square() / prediction.variances[0]
    if not squares.isfinite().all():
        return InferenceDiverged(
            "errors of held-out rows in units of their deviation are not finite"
        )
    return RescaledPosterior(fits.whole, best_factor(squares))


def gaussian(prediction: object) -> GaussianPredictive:
    """Return the Gaussian with a mixture's moments; raises `Unsupported` for other predictions."""
    if not isinstance(prediction, GaussianPredictive):
        raise Unsupported(f"Rescaled needed Gaussian predictions; got {type(prediction).__name__}")
    return GaussianPredictive(prediction.mean[None], prediction.variance[None])


def best_factor(squares: Float[Tensor, "rows outputs"]) -> float:
    r"""Return the factor s of maximal posterior density, given squared standardised errors.

    $$ -\tfrac12 \sum_n (z_n^2 / s + \log s) - \tfrac{\lambda}{8} (\log s)^2, $$

    where the prior is that of a temperature, whose square the factor is.
    """
    from scipy.optimize import minimize_scalar  # scipy.optimize takes long to load

    total, count = float(squares.double().sum()), squares.numel()

    def loss(log_factor: float) -> float:
        likelihood = -0.5 * (total * math.exp(-log_factor) + count * log_factor)
        return 0.125 * PRIOR_PRECISION * log_factor**2 - likelihood

    widest = 2 * math.log(WIDEST)
    optimum: Any = minimize_scalar(loss, bounds=(-widest, widest), method="bounded")
    return math.exp(float(optimum.x))
