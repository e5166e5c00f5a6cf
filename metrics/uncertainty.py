"""The uncertainty of a categorical prediction, independent of the target."""

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from bnnbench.methods.predictions.base import (
    CannotAnswer,
    HasDraws,
    HasExpectedEntropy,
    HasProbabilities,
    HasSpread,
)
from bnnbench.methods.predictions.dirichlet import fitted_precision, smoothed
from bnnbench.methods.predictions.dirichlet import mutual_information as information_of_dirichlet

PRECISIONS = (1e-3, 1e6)
"""Minimum and maximum precision of a Dirichlet fitted to draws; a single draw has the maximum.

Wider than the bounds in training, within which uncertain points would tie. """

ROUNDING = 2e-14
"""Relative rounding of a difference of entropies, some 100 times that of a number."""


def entropy(prediction: HasProbabilities) -> Float64[Tensor, " points"]:
    r"""Return $-\sum_k p_k \log p_k$ of the mixture in nats, with 0 log 0 = 0."""
    return torch.special.entr(prediction.mixture_log_probs.exp()).sum(1)


def expected_entropy(prediction: HasExpectedEntropy) -> Float64[Tensor, " points"]:
    """Return the mean entropy of the draws, in nats: the aleatoric part."""
    return prediction.expected_entropy


def mutual_information(prediction: HasDraws) -> Float64[Tensor, " points"]:
    """Return entropy less expected entropy, in nats: the epistemic part, never negative.

    Exactly 0 up to the rounding of the entropies, as for a single draw and for equal draws.
    Source: Houlsby et al. (2011), "Bayesian active learning for classification and
    preference learning".
    """
    total = entropy(prediction)
    information = total - expected_entropy(prediction)
    return torch.where(information <= ROUNDING * (1 + total), 0.0, information)


def confidence(prediction: HasProbabilities) -> Float64[Tensor, " points"]:
    """Return the probability of the most probable class."""
    return prediction.mixture_log_probs.amax(1).exp()


def one_minus_confidence(prediction: HasProbabilities) -> Float64[Tensor, " points"]:
    """Return the probability that the most probable class is wrong."""
    return -torch.expm1(prediction.mixture_log_probs.amax(1))


def dirichlet_precision(prediction: HasSpread) -> Float64[Tensor, " points"]:
    """Return the precision of the Dirichlet fitted to the draws: the agreement among them.

    Source: paper 003, eqs. 29 to 32.
    """
    return _fitted(prediction).sum(1)


def minus_dirichlet_precision(prediction: HasSpread) -> Float64[Tensor, " points"]:
    """Return the negative precision, which grows with uncertainty."""
    return -dirichlet_precision(prediction)


def dirichlet_mutual_information(prediction: HasSpread) -> Float64[Tensor, " points"]:
    """Return the mutual information, in nats, of the Dirichlet fitted to the draws.

    Unlike `mutual_information`, it depends on the draws only through their mean and the fitted
    precision. Source: paper 003, eqs. 20 to 25.
    """
    return information_of_dirichlet(_fitted(prediction))


def iterations(steps: Int64[Tensor, " points"], level: float | None) -> Float64[Tensor, ""]:
    """Return the mean number of fit steps over all points, or its quantile at a level.

    Source: paper 003, appendix F.
    """
    return steps.double().mean() if level is None else steps.double().quantile(level)


def _fitted(prediction: HasSpread) -> Float64[Tensor, "points classes"]:
    """Return the concentrations of the Dirichlet fitted to the draws."""
    spread = prediction.reverse_mutual_information
    if spread is None:
        raise CannotAnswer(
            "needed the draws or their reverse mutual information; got a summary that was stored "
            "without them: fit again"
        )
    mean = smoothed(prediction.mixture_log_probs.exp())
    return fitted_precision(mean, spread, *PRECISIONS).unsqueeze(1) * mean
