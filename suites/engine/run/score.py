"""From predictions and targets to the numbers of the tables."""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from bnnbench.datasets.base import Target
from bnnbench.methods.predictions.predictive import ClassPredictive, Predictive
from bnnbench.metrics import METRICS


def score(
    prediction: Predictive,
    targets: Tensor,
    metrics: Iterable[str],
    target: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Return metric → value, a mean over points where the metric gives one value per point.

    `target` holds the mean and std that standardised a regression target; predictions and
    targets come standardised, and metrics of original units see them rescaled. Raises TypeError
    for class probabilities of a real target, or the reverse.
    """
    if isinstance(prediction, ClassPredictive) == targets.is_floating_point():
        asked = "a real target" if targets.is_floating_point() else "classes"
        raise TypeError(f"the data has {asked}; got a {type(prediction).__name__}")
    if len(prediction) != len(targets):
        raise ValueError(f"{len(prediction)} predictions for {len(targets)} targets")
    both = {True: (prediction, targets)}
    if target:
        assert not isinstance(prediction, ClassPredictive)
        mean, std = float(target["mean"]), float(target["std"])
        both[False] = (prediction.rescaled(mean, std), mean + std * targets.double())
    else:
        both[False] = both[True]
    return {
        name: float(METRICS[name].score(*both[METRICS[name].standardised]).double().mean())
        for name in metrics
    }


def on_scale(prediction: Predictive, own: Target, other: Target) -> Predictive:
    """Return a prediction of targets standardised as `own` on the scale of `other`."""
    assert not isinstance(prediction, ClassPredictive)
    return prediction.rescaled((own.mean - other.mean) / other.std, own.std / other.std)
