"""Scores that weight all classes equally, however few their points.

Classes without points are ignored.
"""

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.metrics.scores import accuracy
from bnnbench.metrics.separation import aupr_out


def balanced_accuracy(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    r"""Return the hits, each weighted by $N / (K n_k)$: their mean is the mean of class accuracies.

    N points have K classes, $n_k$ of them the hit's class. Source: Brodersen et al. (2010),
    "The balanced accuracy and its posterior distribution".
    """
    counts = target.bincount()
    share = counts[target].double() / len(target)
    return accuracy(prediction, target) / (share * (counts > 0).sum())


def average_precision(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, ""]:
    """Return the mean over classes of the average precision of each class against the rest."""
    log_probs = prediction.mixture_log_probs
    precisions = [_precision(log_probs[:, k], target == k) for k in target.unique().tolist()]
    return torch.stack(precisions).mean()


def _precision(score: Tensor, inside: Tensor) -> Tensor:
    if inside.all():
        return torch.ones_like(score[0]).where(~score.isnan().any(), torch.nan)
    return aupr_out(score, inside.long())
