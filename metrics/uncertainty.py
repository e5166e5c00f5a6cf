"""How uncertain a categorical prediction is, whatever the target."""

import torch
from jaxtyping import Float64
from torch import Tensor

from methods.predictive import ClassPredictive


def entropy(prediction: ClassPredictive) -> Float64[Tensor, " points"]:
    r"""Return $-\sum_k p_k \log p_k$ of the mixture in nats, with 0 log 0 = 0."""
    return torch.special.entr(prediction.mixture_log_probs.exp()).sum(1)


def expected_entropy(prediction: ClassPredictive) -> Float64[Tensor, " points"]:
    """Return the mean entropy of the draws, in nats: the aleatoric part."""
    return prediction.expected_entropy


def mutual_information(prediction: ClassPredictive) -> Float64[Tensor, " points"]:
    """Return entropy less expected entropy, in nats: the epistemic part, never negative.

    Source: Houlsby et al. (2011), "Bayesian active learning for classification and
    preference learning".
    """
    return (entropy(prediction) - expected_entropy(prediction)).clamp(min=0)


def confidence(prediction: ClassPredictive) -> Float64[Tensor, " points"]:
    """Return the probability of the most probable class."""
    return prediction.mixture_log_probs.amax(1).exp()


def one_minus_confidence(prediction: ClassPredictive) -> Float64[Tensor, " points"]:
    """Return the probability that the most probable class is wrong."""
    return -torch.expm1(prediction.mixture_log_probs.amax(1))
