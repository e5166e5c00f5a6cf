"""Scores of predictions against targets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bnnbench.datasets.base import Target
from bnnbench.engine.declare.names import PROJECT, type_path
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.guards.consistency import check_consistent, hide
from bnnbench.engine.run.packing import name_of
from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.predictions.base import CannotAnswer, Predictive, require
from bnnbench.metrics import METRICS
from bnnbench.metrics.base import mean_score


@dataclass(frozen=True)
class Scores:
    """The results of the requested metrics."""

    values: Mapping[str, float]
    """Metric → value."""
    unanswered: Mapping[str, str]
    """Metric → reason why it cannot score the prediction."""


def score(
    prediction: Predictive,
    targets: Tensor,
    metrics: Iterable[str],
    target: Mapping[str, Any] | None = None,
) -> Scores:
    """Return a value for each metric: its score, averaged over points if it has one per point.

    A metric that needs a method which the prediction lacks gets a reason instead of a value.
    `target` holds the mean and std that standardised a regression target; predictions and targets
    are standardised, and are rescaled for metrics in original units. Raises TypeError for class
    probabilities of a real target, or the reverse, and `Inconsistent` for a third-party class whose
    answers contradict each other.
    """
    check_kind(prediction, targets)
    ours = type_path(type(prediction)).startswith(PROJECT)
    values: dict[str, float] = {}
    unanswered: dict[str, str] = {}
    used: dict[int, tuple[Predictive, Tensor]] = {}
    scales = {True: (prediction, targets)}
    hide(prediction, targets)
    if not target:
        scales[False] = scales[True]
    for name in metrics:
        metric = METRICS[name]
        try:
            if metric.standardised not in scales:
                assert target
                mean, std = float(target["mean"]), float(target["std"])
                scales[False] = rescaled(prediction, mean, std), mean + std * targets.double()
                hide(*scales[False])
            scored = scales[metric.standardised]
            require(scored[0], *metric.needs)
            used[id(scored)] = scored
            points = metric.score(*scored)
            if points.shape not in ((), (len(targets),)):
                raise ValueError(
                    f"{name} of {type(prediction).__name__}: needed one number, or one for each "
                    f"of {len(targets)} points; got shape {tuple(points.shape)}"
                )
            values[name] = mean_score(metric, points)
        except CannotAnswer as reason:
            unanswered[name] = str(reason)
    if not ours:  # after the scores, so that a class cannot learn targets from the checks
        for scored in used.values():
            check_consistent(*scored)
    return Scores(values, unanswered)


def check_kind(prediction: Predictive, targets: Tensor) -> None:
    """Raise an error unless prediction and targets have equal length and are both classes or both
    real numbers."""
    of_classes = getattr(prediction, "of_classes", hasattr(prediction, "mixture_log_probs") or None)
    if of_classes is not None and bool(of_classes) == targets.is_floating_point():
        needed = "a real target" if targets.is_floating_point() else "classes"
        raise TypeError(f"the data has {needed}; got a {type(prediction).__name__}")
    if len(prediction) != len(targets):
        raise ValueError(f"{len(prediction)} predictions for {len(targets)} targets")


def third_party_reason(prediction: object, error: Exception) -> str:
    """Return the error of a third-party prediction as the reason for a missing score.

    If the class belongs to this project, the error is a bug and is raised.
    """
    if name_of(prediction) in PREDICTIVES:
        raise error
    return f"{type(prediction).__name__} raised {type(error).__name__}: {message(error)}"


def rescaled(prediction: Any, mean: float, std: float) -> Any:
    """Return the prediction of mean + std * y; raises `CannotAnswer` if there is none."""
    require(prediction, "rescaled")
    return prediction.rescaled(mean, std)


def on_scale(prediction: Predictive, old: Target, new: Target) -> Predictive:
    """Return a prediction converted from the `old` to the `new` standardisation of targets."""
    return rescaled(prediction, (old.mean - new.mean) / new.std, old.std / new.std)
