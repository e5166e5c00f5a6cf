"""The description of a metric, for the tables that list it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metric:
    """A pure function of a prediction and its targets, with its facts for tables.

    `score` returns one value per point where the score is a mean over points, so that reports can
    pair and resample, and otherwise a scalar. Both are tensors of float64. A regression metric is
    in original target units unless `standardised`. A distance takes a reference's prediction in
    place of targets.
    """

    name: str
    score: Callable[[Any, Any], Any]
    unit: str
    higher_is_better: bool | None
    """None for a diagnostic without a better direction, such as a width."""
    standardised: bool = False
    needs: tuple[str, ...] = ()
    """Attributes of a prediction without which there is no score. A score that can be computed in
    several ways needs none of them, and raises `CannotAnswer` where there is no way.
    """
    limits: tuple[str, ...] = ()
    """Values that are right although not finite: "-inf" of a log likelihood where the target had
    probability 0, "nan" of a mean over no points. Other scores that are not finite say that
    inference diverged.
    """


def value(metric: Metric, prediction: Any, targets: Any) -> float:
    """Return the number for a table: the score, or its mean over points."""
    return metric.score(prediction, targets).mean().item()
