"""From predictions and targets to the numbers of the tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bnnbench.datasets.base import Target
from bnnbench.methods.predictions.base import CannotAnswer, Predictive, require
from bnnbench.metrics import METRICS


@dataclass(frozen=True)
class Scores:
    """What came of the metrics that were asked for."""

    values: Mapping[str, float]
    """metric → value"""
    unanswered: Mapping[str, str]
    """metric → why the prediction has no answer to it"""


def score(
    prediction: Predictive,
    targets: Tensor,
    metrics: Iterable[str],
    target: Mapping[str, Any] | None = None,
) -> Scores:
    """Return a value for each metric, a mean over points where the metric gives one per point.

    A metric that needs an answer which the prediction does not give has the reason instead.
    `target` holds the mean and std that standardised a regression target; predictions and
    targets come standardised, and metrics of original units see them rescaled. Raises TypeError
    for class probabilities of a real target, or the reverse.
    """
    of_classes = getattr(prediction, "of_classes", None)
    if of_classes is not None and bool(of_classes) == targets.is_floating_point():
        asked = "a real target" if targets.is_floating_point() else "classes"
        raise TypeError(f"the data has {asked}; got a {type(prediction).__name__}")
    if len(prediction) != len(targets):
        raise ValueError(f"{len(prediction)} predictions for {len(targets)} targets")
    values: dict[str, float] = {}
    unanswered: dict[str, str] = {}
    both = {True: (prediction, targets)}
    if not target:
        both[False] = both[True]
    for name in metrics:
        metric = METRICS[name]
        try:
            if metric.standardised not in both:
                assert target
                mean, std = float(target["mean"]), float(target["std"])
                both[False] = (rescaled(prediction, mean, std), mean + std * targets.double())
            require(both[metric.standardised][0], *metric.needs)
            values[name] = float(metric.score(*both[metric.standardised]).double().mean())
        except CannotAnswer as reason:
            unanswered[name] = str(reason)
    return Scores(values, unanswered)


def rescaled(prediction: Any, mean: float, std: float) -> Any:
    """Return the prediction of mean + std * y; raises `CannotAnswer` where it has none."""
    require(prediction, "rescaled")
    return prediction.rescaled(mean, std)


def on_scale(prediction: Predictive, own: Target, other: Target) -> Predictive:
    """Return a prediction of targets standardised as `own` on the scale of `other`."""
    return rescaled(prediction, (own.mean - other.mean) / other.std, own.std / other.std)
