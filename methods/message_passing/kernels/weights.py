"""What becomes of the weights of a layer, in plain torch.

Axes: weights `members outputs *fan_in`, rows `members rows inputs`. Three tensors side by side
that one product takes together (maps.py) come as one with three times the members.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.networks.torch_layers import affine

Moments = Float[Tensor, "thrice_members rows inputs"]
"""Means of inputs, their squares, and variances."""
Sums = Float[Tensor, "thrice_members rows units"]
Units = Float[Tensor, "members rows outputs"]

FEW_ROWS = 0
"""The most rows of a group of which `dense_sums` and `dense_messages` are faster than products."""


def fill_weight_moments(weight: Gaussian, mean: Tensor, variance: Tensor, second: Tensor) -> None:
    """Fill mean, variance and second moment of marginals."""
    torch.reciprocal(weight.rho, out=variance)
    torch.mul(weight.tau, variance, out=mean)
    torch.addcmul(variance, mean, mean, out=second)


def exchange(
    marginal: Gaussian,
    total: Gaussian | None,
    new: Gaussian,
    old: Gaussian | None,
    kept: Gaussian | None,
    damping: float,
) -> None:
    """Let a group's message move `damping` of the way from the old to the new one, in place.

    The marginal contains the moved one instead of the old then. Where they are wanted, `total`,
    the product of the groups' messages, gets it as a factor, and `kept` is filled with it.
    """
    for name in ("tau", "rho"):
        target = getattr(new, name)
        change = damping * (target - getattr(old, name) if old else target)
        moved = getattr(old, name) + change if old else change
        getattr(marginal, name).add_(change)
        if total:
            getattr(total, name).add_(moved)
        if kept:
            getattr(kept, name).copy_(moved)


def dense_sums(weight: Gaussian, moments: Moments, variance: Tensor | None) -> Sums:
    """Return Σ a w of every output, its variance due to weights, and that due to inputs.

    `variance` is filled with that of the weights.
    """
    parts = [torch.empty_like(weight.rho) for _ in range(3)]
    fill_weight_moments(weight, *parts)
    if variance is not None:
        variance.copy_(parts[1])
    return affine(moments, torch.cat(parts))


def dense_messages(
    marginal: Gaussian,
    total: Gaussian | None,
    moments: Moments,
    h: Units,
    g: Units,
    old: Gaussian | None,
    kept: Gaussian | None,
    damping: float,
) -> Sums:
    """Exchange the messages of rows to weights, to zeroth order in g v; return sums for inputs.

    Those of h w, g s_w and g E[w²] over the outputs, of the marginals before (sums.py).
    """
    parts = [torch.empty_like(marginal.rho) for _ in range(3)]
    fill_weight_moments(marginal, *parts)
    pulls = torch.cat([h, g, g])
    force, of_square, of_variance = affine(pulls.mT, moments.mT).chunk(3)
    new = Gaussian(force + parts[0] * of_square, of_square + of_variance)
    exchange(marginal, total, new, old, kept, damping)
    return affine(pulls, torch.cat(parts).mT)
