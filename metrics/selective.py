"""Selective prediction: errors that remain when the most uncertain points are rejected."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasMoments, HasProbabilities
from bnnbench.metrics.scores import accuracy
from bnnbench.metrics.uncertainty import confidence


@dataclass(frozen=True)
class RiskCoverageCurve:
    """Risks if the k most certain points are accepted, for k = 1, ..., N.

    `risk` is the mean loss over accepted points; `generalised_risk` is their total loss over N. The
    loss is 1 for a wrong class, and the squared error for a real target.
    """

    coverage: Float64[Tensor, " points"]
    risk: Float64[Tensor, " points"]
    generalised_risk: Float64[Tensor, " points"]


def risk_coverage_curve(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> RiskCoverageCurve:
    """Return the curve of errors, averaged over random orders of points with equal confidence.

    Source: Geifman and El-Yaniv (2017), "Selective classification for deep neural networks".
    """
    return _curve(-confidence(prediction), 1 - accuracy(prediction, target))


def aurc(prediction: HasProbabilities, target: Int[Tensor, " points"]) -> Float64[Tensor, ""]:
    """Return the mean selective risk over k = 1, ..., N.

    Source: Geifman, Uziel and El-Yaniv (2019), "Bias-reduced uncertainty estimation for deep
    neural classifiers".
    """
    return risk_coverage_curve(prediction, target).risk.mean()


def augrc(prediction: HasProbabilities, target: Int[Tensor, " points"]) -> Float64[Tensor, ""]:
    """Return the area under the generalised risk from coverage 0 to 1, by the trapezoidal rule.

    It is the probability that a random point is both wrong and at least as confident as another.
    Source: Traub et al. (2024), "Overcoming common flaws in the evaluation of selective
    classification systems".
    """
    risk = risk_coverage_curve(prediction, target).generalised_risk
    return (risk.sum() - risk[-1] / 2) / len(risk)


def squared_error_curve(
    prediction: HasMoments, target: Float[Tensor, "points outputs"]
) -> RiskCoverageCurve:
    """Return the curve of squared errors in squared target units, lowest predicted variance first.

    Errors and variances are averaged over outputs, and the curve over random orders of points with
    equal variance.
    """
    return _curve(prediction.variance.double().mean(1), _squared_error(prediction, target))


def squared_error_aurc(
    prediction: HasMoments, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, ""]:
    """Return the mean selective squared error over k = 1, ..., N, in squared target units.

    The area of Geifman, Uziel and El-Yaniv (2019), with squared errors instead of errors.
    """
    return squared_error_curve(prediction, target).risk.mean()


def excess_squared_error_aurc(
    prediction: HasMoments, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, ""]:
    """Return the area less that of an oracle, which rejects the largest errors first.

    In squared target units; 0 if larger predicted variances always go with larger errors.
    Source: Geifman, Uziel and El-Yaniv (2019) (E-AURC).
    """
    error = _squared_error(prediction, target)
    return squared_error_aurc(prediction, target) - _curve(error, error).risk.mean()


def _squared_error(prediction: HasMoments, target: Tensor) -> Float64[Tensor, " points"]:
    return (prediction.mean.double() - target.double()).square().mean(1)


def _curve(
    uncertainty: Float64[Tensor, " points"], loss: Float64[Tensor, " points"]
) -> RiskCoverageCurve:
    """Return the curve, with losses averaged over points of equal uncertainty."""
    levels, group = uncertainty.unique(return_inverse=True)
    count = group.bincount(minlength=len(levels))
    share = group.bincount(loss, minlength=len(levels)) / count
    total = share.repeat_interleave(count).cumsum(0)
    accepted = torch.arange(1, len(total) + 1, dtype=total.dtype, device=total.device)
    return RiskCoverageCurve(accepted / len(total), total / accepted, total / len(total))
