"""Negative log likelihoods of rows, given a network's outputs."""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.mile.model import Model
from bnnbench.methods.networks.heteroscedastic import gaussian_losses
from bnnbench.methods.networks.mean_and_std import with_variances


def row_losses(
    model: Model,
    outputs: Float[Tensor, "members points outputs"],
    targets: Shaped[Tensor, "members points *target"],
) -> Float[Tensor, "members points"]:
    """Return the negative log likelihood of each row, in nats, given the network's outputs."""
    if isinstance(model.likelihood, Categorical):
        labels = targets.long().unsqueeze(-1)
        return -outputs.log_softmax(-1).gather(-1, labels).squeeze(-1)
    if model.noise_variance is not None:
        outputs = torch.cat([outputs, torch.full_like(outputs, model.noise_variance)], -1)
    return gaussian_losses(outputs, targets)


def constant_of(model: Model, points: int, targets: int) -> float:
    """Return the terms of a loss that no weight changes."""
    if isinstance(model.likelihood, Categorical):
        return 0.0
    return 0.5 * points * targets * math.log(2 * math.pi * (model.noise_variance or 1.0))


def read(
    model: Model, outputs: Float[Tensor, "members points outputs"]
) -> Float[Tensor, "members points outputs"]:
    """Return means, means and variances, or log probabilities, given the last layer's outputs."""
    if isinstance(model.likelihood, Categorical):
        return outputs.log_softmax(-1)
    return with_variances(outputs) if model.learns_std else outputs
