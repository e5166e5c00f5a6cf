r"""Agreement of two methods' predictive distributions at the same points, independent of targets.

Source: Izmailov et al. (2021), "What are Bayesian neural network posteriors really like?",
section 5: agreement of the top label, and total variation $\tfrac12 \sum_k |p_k - q_k|$.
"""

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.base import HasProbabilities


def agreement(
    prediction: HasProbabilities, reference: HasProbabilities
) -> Float64[Tensor, " points"]:
    """Return 1 if both have the same most probable class (the lowest of equals), else 0."""
    first, second = (p.mixture_log_probs.argmax(1) for p in (prediction, reference))
    return (first == second).double()


def total_variation(
    prediction: HasProbabilities, reference: HasProbabilities
) -> Float64[Tensor, " points"]:
    """Return the maximum difference between the probabilities of a set of classes under both."""
    first, second = (p.mixture_log_probs.double().exp() for p in (prediction, reference))
    return (first - second).abs().sum(1) / 2


def total_variation_of_cdfs(
    cdf: Float64[Tensor, "points nodes"], reference: Float64[Tensor, "points nodes"]
) -> Float64[Tensor, " points"]:
    """Return the total variation between two distributions of a real target cut into cells.

    The cells lie between the nodes, at which both cdfs are given, and beyond them. The result is at
    most the total variation of the distributions themselves, and approaches it as cells shrink.
    """
    step = torch.nn.functional.pad(cdf - reference, (1, 1)).diff(dim=1)
    return step.abs().sum(1) / 2
