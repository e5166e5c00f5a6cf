"""Mean losses of stacked members over rows and draws of an index, in nats."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.networks.heteroscedastic import gaussian_losses


def class_losses(
    logits: Float[Tensor, "members points draws classes"], targets: Int[Tensor, "members points"]
) -> Float[Tensor, " members"]:
    """Return the mean cross-entropy."""
    index = targets.long()[:, :, None, None].expand(*logits.shape[:3], 1)
    return -logits.log_softmax(-1).gather(-1, index).flatten(1).mean(1)


def variance_losses(
    outputs: Float[Tensor, "members points both"],
    added: Float[Tensor, "members points draws outputs"],
    targets: Float[Tensor, "members points draws outputs"],
) -> Float[Tensor, " members"]:
    """Return the mean negative log density, for outputs of means and variances.

    What an index adds changes the means.
    """
    means, variances = outputs.unsqueeze(2).chunk(2, -1)
    both = torch.cat([means + added, variances.expand_as(added)], -1)
    return gaussian_losses(both.flatten(1, 2), targets.flatten(1, 2)).mean(1)


def density_losses(
    mean_squares: Float[Tensor, " members"], variance: Float[Tensor, " members"]
) -> Float[Tensor, " members"]:
    """Return the mean negative log density of one output with a common noise variance."""
    return 0.5 * (mean_squares / variance + (2 * math.pi * variance).log())
