"""Scores of arrays against targets: `bnnbench.score`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bnnbench.engine.external.forms import BadPredictions, Prediction, checked
from bnnbench.metrics import (
    CLASSIFICATION,
    INTERVALS,
    JOINT,
    JOINT_REGRESSION,
    METRICS,
    QUANTILES,
    REGRESSION,
    SETS,
)
from bnnbench.wording import did_you_mean

OF_KIND: Mapping[str, tuple[str, ...]] = {
    "quantiles": QUANTILES,
    "interval": INTERVALS,
    "class_set": SETS,
}
"""Kind of prediction → metrics for this kind only, which suites do not request."""


def score(predictions: Any, targets: Any, metrics: Sequence[str] | None = None) -> dict[str, float]:
    """Return metric → score of predictions, averaged over points if it is a pointwise metric.

    `predictions` are arrays by name, in one of these forms:

    - `probabilities` or `log_probabilities`: points x classes, or draws x points x classes. An
      array without a name is taken as probabilities.
    - `means` and `variances` of Gaussians, noise included: points, or draws x points
    - `samples` of the target: samples x points
    - `levels` and `quantiles`: points x levels
    - `level`, `low` and `high`: an interval for each point
    - `level` and `members`: points x classes, true for the classes of a set

    Draws are equally likely. `targets` are class numbers from 0, or real numbers, and scores are in
    their units. Without `metrics`, all scores that the form supports are returned. Raises
    ValueError, with the cause and the remedy, for anything else, and for a metric that the form
    does not support.
    """
    given = predictions if isinstance(predictions, Mapping) else {"probabilities": predictions}
    prediction = checked(given)
    numbers = _targets(targets, prediction)
    for name in metrics or ():
        if name not in METRICS:
            hint = did_you_mean(name, METRICS)
            raise BadPredictions(f"there is no metric {name!r}{hint and f', {hint}'}")
    return _scores(prediction, numbers, metrics)


def _scores(
    prediction: Prediction, targets: np.ndarray, metrics: Sequence[str] | None
) -> dict[str, float]:
    import torch  # metrics are functions of tensors

    from bnnbench.engine.external.predictives import predictive_of
    from bnnbench.engine.run.score import score as score_of

    wanted = metrics or _all_for(prediction)
    scores = score_of(predictive_of(prediction), torch.from_numpy(targets), wanted)
    if metrics and scores.unanswered:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in scores.unanswered.items())
        raise BadPredictions(f"these predictions cannot be scored by {reasons}")
    return dict(scores.values)


def _all_for(prediction: Prediction) -> list[str]:
    names = (*CLASSIFICATION, *JOINT) if prediction.of_classes else (*REGRESSION, *JOINT_REGRESSION)
    listed = dict.fromkeys((*names, *OF_KIND.get(prediction.kind, ())))
    return [name for name in listed if not METRICS[name].standardised]


def _targets(given: Any, prediction: Prediction) -> np.ndarray:
    """Return class numbers, or points x outputs of real numbers. Raises BadPredictions."""
    targets = np.asarray(given)
    if targets.dtype.kind not in "buif":
        raise BadPredictions(f"targets have type {targets.dtype}: give an array of numbers")
    if targets.ndim == 0 or len(targets) != prediction.points:
        raise BadPredictions(
            f"there are {prediction.points} predictions for targets of shape {targets.shape}: give "
            "one for each"
        )
    if prediction.of_classes:
        whole = targets.ndim == 1 and bool((targets == np.round(targets)).all())
        if not whole or targets.min() < 0 or targets.max() >= prediction.columns:
            raise BadPredictions(
                f"targets are not classes 0 to {prediction.columns - 1}: give a class number for "
                "each point"
            )
        return targets.astype(np.int64)
    targets = targets.astype(np.float64).reshape(prediction.points, -1)
    if targets.shape[1] != prediction.columns:
        raise BadPredictions(
            f"there are {prediction.columns} outputs for {targets.shape[1]} targets of each point"
        )
    if not np.isfinite(targets).all():
        raise BadPredictions("targets contain NaN or infinity: leave these points out of both")
    return targets
