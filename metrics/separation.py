"""Detection of out-of-distribution data by an uncertainty.

Out-of-distribution points have target 1 and should have larger scores.
"""

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

TRUE_POSITIVE_RATE = 0.95


def auroc(score: Float[Tensor, " points"], target: Int[Tensor, " points"]) -> Float64[Tensor, ""]:
    """Return the probability that an outlier scores above an inlier, ties counting half.

    Raises ValueError unless there are points of both kinds.
    """
    true_positives, false_positives = _accepted(score, target)
    return torch.trapezoid(
        true_positives / true_positives[-1], false_positives / false_positives[-1]
    )


def aupr_out(
    score: Float[Tensor, " points"], target: Int[Tensor, " points"]
) -> Float64[Tensor, ""]:
    r"""Return the average precision $\sum_n (R_n - R_{n-1}) P_n$, outliers being positive.

    Raises ValueError unless there are points of both kinds.
    """
    true_positives, false_positives = _accepted(score, target)
    # Precision is undefined before the first threshold, and not needed there.
    precision = true_positives[1:] / (true_positives + false_positives)[1:]
    return (true_positives.diff() * precision).sum() / true_positives[-1]


def aupr_in(score: Float[Tensor, " points"], target: Int[Tensor, " points"]) -> Float64[Tensor, ""]:
    """Return the average precision, inliers being positive."""
    return aupr_out(-score, 1 - target)


def fpr95_out(
    score: Float[Tensor, " points"], target: Int[Tensor, " points"]
) -> Float64[Tensor, ""]:
    """Return the share of inliers flagged once at least 95 % of the outliers are.

    Raises ValueError unless there are points of both kinds.
    """
    true_positives, false_positives = _accepted(score, target)
    first = (true_positives / true_positives[-1] >= TRUE_POSITIVE_RATE).double().argmax()
    return (false_positives / false_positives[-1])[first]


def fpr95_in(
    score: Float[Tensor, " points"], target: Int[Tensor, " points"]
) -> Float64[Tensor, ""]:
    """Return the share of outliers accepted once at least 95 % of the inliers are.

    Source: Hendrycks et al. (2019), "Deep anomaly detection with outlier exposure", for the
    convention of most of the literature.
    """
    return fpr95_out(-score, 1 - target)


def _accepted(score: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return counts of positives and negatives with at least each distinct score, highest first.

    Both counts begin at 0, before the first threshold. A NaN score makes them all NaN.
    """
    kinds = target.unique().tolist()
    if kinds != [0, 1]:
        raise ValueError(
            "separation needs targets 0 (in distribution) and 1 (out of distribution), "
            f"both present; got {kinds[:5]}"
        )
    ordered, order = score.double().sort(descending=True)
    last_of_equals = torch.ones_like(order, dtype=torch.bool)
    last_of_equals[:-1] = ordered[1:] != ordered[:-1]
    positives = target[order].double().cumsum(0)
    negatives = (1 - target[order]).double().cumsum(0)
    counts = torch.stack([positives, negatives])[:, last_of_equals]
    counts = counts.where(~score.isnan().any(), torch.nan)
    true_positives, false_positives = torch.nn.functional.pad(counts, (1, 0))
    return true_positives, false_positives
