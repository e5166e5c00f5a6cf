"""Selective prediction: errors that remain when the least confident points are rejected."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.metrics.scores import accuracy
from bnnbench.metrics.uncertainty import confidence


@dataclass(frozen=True)
class RiskCoverageCurve:
    """Risks when the k most confident points are accepted, for k = 1, ..., N.

    `risk` is the share of errors among the accepted; `generalised_risk` among all points.
    """

    coverage: Float64[Tensor, " points"]
    risk: Float64[Tensor, " points"]
    generalised_risk: Float64[Tensor, " points"]


def risk_coverage_curve(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> RiskCoverageCurve:
    """Return the curve; points of equal confidence are accepted in random order, on average.

    Source: Geifman and El-Yaniv (2017), "Selective classification for deep neural networks".
    """
    top, group = (-confidence(prediction)).unique(return_inverse=True)
    count = group.bincount(minlength=len(top))
    share = group.bincount(1 - accuracy(prediction, target), minlength=len(top)) / count
    errors = share.repeat_interleave(count).cumsum(0)
    accepted = torch.arange(1, len(errors) + 1, dtype=errors.dtype, device=errors.device)
    return RiskCoverageCurve(accepted / len(errors), errors / accepted, errors / len(errors))


def aurc(prediction: HasProbabilities, target: Int[Tensor, " points"]) -> Float64[Tensor, ""]:
    """Return the mean selective risk over k = 1, ..., N.

    Source: Geifman, Uziel and El-Yaniv (2019), "Bias-reduced uncertainty estimation for deep
    neural classifiers".
    """
    return risk_coverage_curve(prediction, target).risk.mean()


def augrc(prediction: HasProbabilities, target: Int[Tensor, " points"]) -> Float64[Tensor, ""]:
    """Return the area under the generalised risk, from no coverage to full, by trapezoids.

    It is the chance that a random point is both wrong and at least as confident as another.
    Source: Traub et al. (2024), "Overcoming common flaws in the evaluation of selective
    classification systems".
    """
    risk = risk_coverage_curve(prediction, target).generalised_risk
    return (risk.sum() - risk[-1] / 2) / len(risk)
