"""Temperature scaling: a power of class probabilities, chosen on held-out rows.

Source: Guo, Pleiss, Sun and Weinberger (2017), "On Calibration of Modern Neural Networks". The
probabilities of a mixture are averaged first (Rahaman and Thiery, 2021, "Uncertainty Quantification
and Deep Ensembles").
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.base import Posterior, differentiable
from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.methods.predictions.predictive import CategoricalPredictive

WIDEST = 20.0
"""Temperatures are searched between 1/20 and 20."""
PRIOR_PRECISION = 10.0
"""Precision of the normal prior of the temperature's logarithm, whose mean is 0: a factor of 1.37.

On few rows the likelihood alone has its optimum at a bound, since all of them may be predicted
right. In simulations with 10 to 1,000 training rows and precisions from 0 to 20, this one cost
nothing beyond noise and kept the gain."""


@dataclass(frozen=True)
class TemperedPosterior:
    """A posterior whose class probabilities p become p^(1/temperature), normalised."""

    posterior: Posterior
    temperature: float

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the fit to all rows, and the temperature."""
        return dict(self.posterior.diagnostics) | {"temperature": self.temperature}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> CategoricalPredictive:
        """Return one categorical per point, whatever the number of draws."""
        log_probs = mixture_log_probs(self.posterior, inputs, rng)
        return CategoricalPredictive(tempered(log_probs, self.temperature)[None])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the class probabilities, with gradient."""
        return tempered(differentiable(self.posterior).log_probs(inputs, rng), self.temperature)


def mixture_log_probs(
    posterior: Posterior, inputs: Float[Tensor, "points *features"], rng: torch.Generator
) -> Float[Tensor, "points classes"]:
    """Return the log of the mean probabilities of a posterior's draws, in float64."""
    prediction = posterior.predict(inputs, rng)
    assert isinstance(prediction, HasProbabilities)
    return prediction.mixture_log_probs.double()


def tempered(
    log_probs: Float[Tensor, "points classes"], temperature: float
) -> Float[Tensor, "points classes"]:
    """Return log p^(1/temperature), normalised."""
    return (log_probs / temperature).log_softmax(-1)


def best_temperature(
    log_probs: Float[Tensor, "rows classes"], targets: Int[Tensor, " rows"]
) -> float:
    """Return the temperature of maximal posterior density given these rows, 1 without information.

    Rows whose class has probability 0 have infinite loss at any temperature and are omitted.
    """
    from scipy.optimize import minimize_scalar  # scipy.optimize takes long to load

    rows = torch.arange(len(targets), device=targets.device)
    possible = log_probs[rows, targets.long()] > -math.inf
    log_probs, targets, rows = log_probs[possible], targets[possible].long(), rows[: possible.sum()]

    def loss(log_temperature: float) -> float:
        likelihood = tempered(log_probs, math.exp(log_temperature))[rows, targets].sum()
        return 0.5 * PRIOR_PRECISION * log_temperature**2 - float(likelihood)

    widest = math.log(WIDEST)
    optimum: Any = minimize_scalar(loss, bounds=(-widest, widest), method="bounded")
    return math.exp(float(optimum.x)) if loss(float(optimum.x)) < loss(0.0) else 1.0
