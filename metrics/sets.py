"""Scores of intervals and sets that state their own level, as from conformal methods."""

from jaxtyping import Float, Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasInterval, HasSet


def stated_interval_coverage(
    prediction: HasInterval, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    """Return 1 if the interval, ends included, contains the target, else 0, averaged over outputs.

    Compare its mean with the level that the prediction states. Source: Khosravi et al.
    (2011), "Comprehensive review of neural network-based prediction intervals" (PICP).
    """
    target = target.double()
    inside = (prediction.low.double() <= target) & (target <= prediction.high.double())
    return inside.double().mean(1)


def stated_interval_width(prediction: HasInterval) -> Float64[Tensor, " points"]:
    """Return the width of the interval in target units, averaged over outputs.

    Source: Khosravi et al. (2011), "Comprehensive review of neural network-based prediction
    intervals" (MPIW).
    """
    return (prediction.high.double() - prediction.low.double()).mean(1)


def interval_score(
    prediction: HasInterval, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the interval's width plus a penalty for targets outside it, averaged over outputs.

    $$ (u - l) + \tfrac2\alpha \max(l - y, 0) + \tfrac2\alpha \max(y - u, 0) $$

    1 - α is the level that the prediction states. In target units; the quantiles α/2 and
    1 - α/2 have the minimum expectation. Source: Gneiting and Raftery (2007), "Strictly proper
    scoring rules, prediction, and estimation", eq. 43.
    """
    ends = prediction.low.double(), prediction.high.double()
    return score_of_ends(*ends, target, prediction.level)


def score_of_ends(
    low: Float64[Tensor, "points outputs"],
    high: Float64[Tensor, "points outputs"],
    target: Float[Tensor, "points outputs"],
    level: float,
) -> Float64[Tensor, " points"]:
    """Return the interval score of intervals of a level, averaged over outputs."""
    target = target.double()
    outside = (low - target).clamp(min=0) + (target - high).clamp(min=0)
    return (high - low + 2 / (1 - level) * outside).mean(1)


def set_coverage(prediction: HasSet, target: Int[Tensor, " points"]) -> Float64[Tensor, " points"]:
    """Return 1 if the set contains the target, else 0.

    Compare its mean with the level that the prediction states. Source: Sadinle, Lei and
    Wasserman (2019), "Least ambiguous set-valued classifiers with bounded error levels".
    """
    return prediction.members.gather(1, target.long()[:, None]).squeeze(1).double()


def set_size(prediction: HasSet) -> Float64[Tensor, " points"]:
    """Return the number of classes in the set; 0 for an empty one.

    Source: Sadinle, Lei and Wasserman (2019), "Least ambiguous set-valued classifiers with bounded
    error levels" (ambiguity).
    """
    return prediction.members.double().sum(1)
