"""Temperature scaling: class probabilities raised to a power that held-out rows choose.

Source: Guo, Pleiss, Sun and Weinberger (2017), "On Calibration of Modern Neural Networks". The
probabilities of a mixture are averaged first (Rahaman and Thiery, 2021, "Uncertainty Quantification
and Deep Ensembles").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    Problem,
    Unsupported,
    differentiable,
)
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.predictions.base import require
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.rows import checksum, held_out, stream
from bnnbench.methods.tuning.space import Space, compose, space_of

WIDEST = 20.0
"""Temperatures are sought between 1/20 and 20."""


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
        """Return one categorical per point, whatever the number of draws behind it."""
        log_probs = mixture_log_probs(self.posterior, inputs, rng)
        return CategoricalPredictive(tempered(log_probs, self.temperature)[None])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the class probabilities, with gradient."""
        return tempered(differentiable(self.posterior).log_probs(inputs, rng), self.temperature)


@dataclass(frozen=True)
class Tempered(Batched):
    """A classifier with one number that sharpens or flattens its probabilities.

    The temperature has the least log loss on a fifth of the training rows, predicted by a fit to
    the other rows; the method is then fitted to all. Order of classes and accuracy do not change.
    """

    method: Method = field(default_factory=AdamW)

    @property
    def space(self) -> Space:
        """The search space of the method."""
        return compose("method", space_of(self.method))

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` for a regression."""
        for problem in problems:
            if not isinstance(problem.likelihood, Categorical):
                raise Unsupported(f"Tempered needed classes; got {problem.likelihood}")
        cases = [held_out(problem, 1)[0] for problem in problems]
        methods = [self.method] * len(problems)
        with progress.part(0, 2):
            partial = fit_all(methods, [case.problem for case in cases], rngs).results
        with progress.part(1, 2):
            whole = fit_all(methods, problems, rngs).results
        fitted: list[Posterior | InferenceDiverged] = []
        for problem, case, trained, posterior in zip(problems, cases, partial, whole, strict=True):
            if isinstance(trained, InferenceDiverged):
                fitted.append(InferenceDiverged(f"without a fifth of the rows: {trained}"))
            elif isinstance(posterior, InferenceDiverged):
                fitted.append(posterior)
            else:
                draws = stream("temperature", checksum(problem.train))
                log_probs = mixture_log_probs(trained, case.inputs, draws)
                temperature = best_temperature(log_probs, case.block.targets)
                fitted.append(TemperedPosterior(posterior, temperature))
        return fitted


def mixture_log_probs(
    posterior: Posterior, inputs: Float[Tensor, "points *features"], rng: torch.Generator
) -> Float[Tensor, "points classes"]:
    """Return the log of the mean probabilities of a posterior's draws, in float64."""
    prediction = posterior.predict(inputs, rng)
    require(prediction, "mixture_log_probs")
    return prediction.mixture_log_probs.double()  # pyright: ignore[reportAttributeAccessIssue]


def tempered(
    log_probs: Float[Tensor, "points classes"], temperature: float
) -> Float[Tensor, "points classes"]:
    """Return log p^(1/temperature), normalised."""
    return (log_probs / temperature).log_softmax(-1)


def best_temperature(
    log_probs: Float[Tensor, "rows classes"], targets: Int[Tensor, " rows"]
) -> float:
    """Return the temperature with the least log loss of these rows.

    Rows whose class has probability 0 are infinitely wrong at any temperature, and left out.
    """
    rows = torch.arange(len(targets), device=targets.device)
    possible = log_probs[rows, targets.long()] > -math.inf
    if not possible.any():
        return 1.0
    log_probs, targets, rows = log_probs[possible], targets[possible].long(), rows[: possible.sum()]

    def loss(log_temperature: float) -> float:
        return -float(tempered(log_probs, math.exp(log_temperature))[rows, targets].mean())

    widest = math.log(WIDEST)
    found = minimize_scalar(loss, bounds=(-widest, widest), method="bounded")
    return math.exp(float(found.x))
