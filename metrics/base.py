"""The description of a metric, for the tables that list it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Margin:
    """The maximum difference between scores that changes no choice of method."""

    size: float
    relative: bool = False
    """True if `size` is a fraction of the best mean, for scores with different units."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.size) and self.size > 0):
            raise ValueError(f"a margin must be a positive number; got {self.size}")

    def absolute(self, best: float) -> float | None:
        """Return the margin in the score's unit; None if it would be 0 or not finite."""
        size = self.size * abs(best) if self.relative else self.size
        return size if math.isfinite(size) and size > 0 else None


Margins = Mapping[str, Margin | None]
"""Metric → the margin that a reader requests instead of the metric's own."""

NO_MARGINS: Margins = {}


@dataclass(frozen=True)
class Metric:
    """A pure function of a prediction and its targets, with its facts for tables.

    `score` returns one value per point if the score is a mean over points, so that reports can
    pair and resample, and otherwise a scalar. Both are tensors of float64. A regression metric is
    in original target units unless `standardised`. A distance takes a reference's prediction
    instead of targets.
    """

    name: str
    score: Callable[[Any, Any], Any]
    unit: str
    higher_is_better: bool | None
    """The better direction; None for a diagnostic without one, such as a width."""
    standardised: bool = False
    needs: tuple[str, ...] = ()
    """Attributes of a prediction that the score requires. A score that can be computed in several
    ways lists none, and raises `CannotAnswer` if no way is possible.
    """
    limits: tuple[str, ...] = ()
    """Valid values that are not finite: "-inf" for a log likelihood if the target had probability
    0, "nan" for a mean over no points. Other scores that are not finite mean that inference
    diverged.
    """
    margin: Margin | None = None
    """Methods that differ by at most this are practically equal; None if no margin is agreed on."""
    margin_of_reals: Margin | None = None
    """The margin for real targets, if it differs from the one for classes."""

    def margin_for(self, real_targets: bool) -> Margin | None:
        """Return the margin for real targets or for classes."""
        return (real_targets and self.margin_of_reals) or self.margin


def value(metric: Metric, prediction: Any, targets: Any) -> float:
    """Return the number for a table: the score, or its mean over points."""
    return mean_score(metric, metric.score(prediction, targets))


def mean_score(metric: Metric, scores: Any) -> float:
    """Return the mean of scores of points.

    If some are infinite in either direction, it is infinitely bad: a target of density 0 is not
    made up for by one that a point mass hits.
    """
    opposed = bool(scores.isposinf().any() and scores.isneginf().any() and not scores.isnan().any())
    if opposed and metric.higher_is_better is not None:
        return -math.inf if metric.higher_is_better else math.inf
    return scores.detach().double().mean().item()
