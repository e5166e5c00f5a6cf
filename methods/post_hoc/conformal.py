"""Split conformal prediction: sets or intervals that contain a stated share of new targets.

The method is fitted to four fifths of the training rows. Scores of the last fifth measure how badly
a target fits its prediction; their quantile is the maximum score of targets in a set. If rows are
exchangeable, a set contains the next target with at least the stated probability, whatever the
method predicts. Source: Vovk, Gammerman and Shafer (2005), "Algorithmic Learning in a Random
World"; for the scores see `scores.py`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    Problem,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_between, require_choice, require_positive
from bnnbench.methods.post_hoc import scores
from bnnbench.methods.post_hoc.around import Around
from bnnbench.methods.predictions.base import HasProbabilities, Predictive
from bnnbench.methods.predictions.levels import ceil_of
from bnnbench.methods.predictions.sets import IntervalPredictive, SetPredictive
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.rows import HeldOut, Units, checksum, held_out, stream


@dataclass(frozen=True)
class ConformalPosterior:
    """A posterior, and the maximum score of targets in a set or interval."""

    posterior: Posterior
    units: Units
    level: float
    classes: scores.ClassScore
    intervals: scores.IntervalScore
    threshold: Float64[Tensor, " outputs"]
    """A single number for classes."""

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the fit, and the thresholds' mean."""
        return dict(self.posterior.diagnostics) | {"threshold": float(self.threshold.mean())}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> IntervalPredictive | SetPredictive:
        """Return an interval per point and output, or a set of classes per point."""
        prediction = self.uncorrected(inputs, rng)
        if isinstance(prediction, HasProbabilities):
            chosen = scores.of_classes(self.classes, prediction) <= self.threshold
            return SetPredictive(self.level, chosen)
        ends = scores.interval(self.intervals, prediction, self.level, self.threshold)
        return IntervalPredictive(self.level, *ends)

    def uncorrected(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the distributions that the sets or intervals correct."""
        return predicted(self.posterior, self.units, inputs, rng)


@dataclass(frozen=True)
class Conformal(Around):
    """A method whose sets or intervals contain a share `level` of targets."""

    card: ClassVar[Card] = Card(
        around="its sets or intervals are corrected to a stated coverage", gradients=False
    )

    method: Method = field(default_factory=AdamW)
    """The method whose predictions are corrected, and its settings."""
    level: float = 0.9
    """The share of new targets that sets or intervals contain."""
    classes: scores.ClassScore = "aps"
    """aps: add classes from the most probable down (Romano, Sesia and Candès, 2020), without the
    random number that makes coverage exact. probability: all classes above one probability
    (Sadinle, Lei and Wasserman, 2019)."""
    intervals: scores.IntervalScore = "quantiles"
    """quantiles: widen the method's own central interval equally on both sides (Romano, Patterson
    and Candès, 2019). residuals: around the mean, in predictive standard deviations."""

    def __post_init__(self) -> None:
        require_between(self, 0.0, 1.0, "level")
        require_positive(self, "level")
        require_choice(self, "classes", scores.CLASS_SCORES)
        require_choice(self, "intervals", scores.INTERVAL_SCORES)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        cases = [held_out(problem, 1)[0] for problem in problems]
        methods = [self.method] * len(problems)
        fitted = fit_all(methods, [case.problem for case in cases], rngs).results
        return [
            result if isinstance(result, InferenceDiverged) else self._around(result, case, problem)
            for problem, case, result in zip(problems, cases, fitted, strict=True)
        ]

    def _around(self, posterior: Posterior, case: HeldOut, problem: Problem) -> ConformalPosterior:
        threshold = self._threshold(problem, case, posterior)
        settings = self.level, self.classes, self.intervals
        return ConformalPosterior(posterior, case.units, *settings, threshold)

    def _threshold(
        self, problem: Problem, case: HeldOut, posterior: Posterior
    ) -> Float64[Tensor, " outputs"]:
        draws = stream("conformal", checksum(problem.train), device=case.inputs.device)
        prediction = predicted(posterior, case, case.block.inputs, draws)
        targets = case.block.targets
        if isinstance(problem.likelihood, Categorical):
            by_class = scores.of_classes(self.classes, prediction)
            row_scores = by_class.gather(1, targets.long()[:, None])
        else:
            row_scores = scores.of_targets(self.intervals, prediction, targets, self.level)
        return quantile_of_scores(row_scores, self.level)


def predicted(
    posterior: Posterior,
    units: Units,
    inputs: Float[Tensor, "points *features"],
    rng: torch.Generator,
) -> Predictive:
    """Return predictions by a fit to some rows, with inputs and targets in units of all rows."""
    return units.in_original_units(posterior.predict(units.standardised(inputs), rng))


def quantile_of_scores(
    values: Float64[Tensor, "rows outputs"], level: float
) -> Float64[Tensor, " outputs"]:
    """Return the ⌈(rows + 1) level⌉-th smallest score of each output; ∞ if there are too few."""
    rank = ceil_of(level, len(values) + 1)
    if rank > len(values):
        return torch.full_like(values[0], math.inf)
    return values.sort(0).values[rank - 1]
