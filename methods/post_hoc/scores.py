"""Scores of conformal prediction, which measure how badly a target fits its prediction."""

from typing import Any, Literal, get_args

from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import require
from bnnbench.methods.predictions.inversion import central_interval

ClassScore = Literal["aps", "probability"]
IntervalScore = Literal["quantiles", "residuals"]
CLASS_SCORES: tuple[ClassScore, ...] = get_args(ClassScore)
INTERVAL_SCORES: tuple[IntervalScore, ...] = get_args(IntervalScore)


def of_classes(name: ClassScore, prediction: Any) -> Float64[Tensor, "points classes"]:
    """Return the score of every class.

    aps: the probability of the class plus all more probable ones. probability: 1 minus its own.
    """
    require(prediction, "mixture_log_probs")
    probabilities = prediction.mixture_log_probs.double().exp()
    if name == "probability":
        return 1 - probabilities
    descending, order = probabilities.sort(dim=1, descending=True, stable=True)
    return descending.cumsum(1).gather(1, order.argsort(1))


def of_targets(
    name: IntervalScore,
    prediction: Any,
    targets: Float[Tensor, "points outputs"],
    level: float,
) -> Float64[Tensor, "points outputs"]:
    """Return the score of each target.

    quantiles: its distance outside the central interval of mass `level`, negative inside.
    residuals: its distance from the mean in predictive standard deviations.
    """
    targets = targets.double()
    if name == "residuals":
        require(prediction, "mean", "variance")
        return (targets - prediction.mean).abs() / prediction.variance.sqrt()
    low, high = central_interval(prediction, level)
    return (low - targets).maximum(targets - high)


def interval(
    name: IntervalScore, prediction: Any, level: float, threshold: Float64[Tensor, " outputs"]
) -> tuple[Float64[Tensor, "points outputs"], Float64[Tensor, "points outputs"]]:
    """Return the minimum and maximum target whose score is at most the threshold.

    If a negative threshold would reverse an interval, it becomes its midpoint.
    """
    if name == "residuals":
        reach = threshold * prediction.variance.sqrt()
        return prediction.mean - reach, prediction.mean + reach
    low, high = central_interval(prediction, level)
    middle = (low + high) / 2
    return (low - threshold).minimum(middle), (high + threshold).maximum(middle)
