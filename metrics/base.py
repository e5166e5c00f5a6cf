"""What a metric is, for the tables that list it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metric:
    """A pure function of a prediction and its targets, and what a table must know of it.

    `score` returns one value per point where the score is a mean over points, so that
    reports can pair and resample, and otherwise a scalar. Both are tensors of float64.
    A regression metric sees original target units unless `standardised`. A distance takes a
    reference's prediction in place of targets.
    """

    name: str
    score: Callable[[Any, Any], Any]
    unit: str
    higher_is_better: bool | None
    """None: a diagnostic without a better direction, such as a width."""
    standardised: bool = False
    needs: tuple[str, ...] = ()
    """Answers of a prediction, by attribute, without which there is no score. A score that can be
    had in several ways needs none of them, and raises `CannotAnswer` where there is no way."""


def value(metric: Metric, prediction: Any, targets: Any) -> float:
    """Return the number for a table: the score, or its mean over points."""
    return metric.score(prediction, targets).mean().item()
