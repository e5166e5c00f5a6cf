"""The operations on the weights of a layer, in plain torch.

Axes: weights `members outputs *fan_in`, rows `members rows inputs`.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.stacks import (
    InputMoments,
    InputSums,
    LaterPulls,
    LaterSums,
    LaterWeightSums,
    WeightMoments,
)
from bnnbench.methods.networks.torch_layers import affine

Units = Float[Tensor, "members rows outputs"]

FEW_ROWS = 0
"""Up to this many rows, `dense_sums` and `dense_messages` are faster than matrix products."""


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
    stored: Gaussian | None,
    damping: float,
) -> None:
    """Move a group's message `damping` of the way from the old to the new one, in place.

    The marginal then contains the moved message instead of the old one. If given, `total`, the
    product of the groups' messages, is multiplied by it, and `stored`, which may be `old` itself,
    is filled with it.
    """
    for name in ("tau", "rho"):
        target = getattr(new, name)
        change = damping * (target - getattr(old, name) if old else target)
        moved = getattr(old, name) + change if old else change
        getattr(marginal, name).add_(change)
        if total:
            getattr(total, name).add_(moved)
        if stored:
            getattr(stored, name).copy_(moved)


def dense_sums(weight: Gaussian, inputs: InputMoments, variance: Tensor | None) -> LaterSums:
    """Return the moments of Σ a w for every output; fill `variance` with the weights'."""
    weights = _moments(weight)
    if variance is not None:
        variance.copy_(weights.variance)
    return LaterSums.of(affine(inputs.stacked, weights.stacked))


def dense_messages(
    marginal: Gaussian,
    total: Gaussian | None,
    inputs: InputMoments,
    h: Units,
    g: Units,
    old: Gaussian | None,
    stored: Gaussian | None,
    damping: float,
) -> InputSums:
    """Exchange the messages of rows to weights, to zeroth order in g v; return sums for inputs.

    These sums use the marginals from before the exchange (maps/sums.py).
    """
    weights = _moments(marginal)
    pulls = LaterPulls.of(torch.cat([h, g, g]))
    sums = LaterWeightSums.of(affine(pulls.stacked.mT, inputs.stacked.mT))
    new = Gaussian(
        sums.force + weights.mean * sums.gain_of_square,
        sums.gain_of_square + sums.gain_of_variance,
    )
    exchange(marginal, total, new, old, stored, damping)
    return InputSums.of(affine(pulls.stacked, weights.stacked.mT))


def _moments(weight: Gaussian) -> WeightMoments:
    members, *shape = weight.rho.shape
    moments = WeightMoments.of(weight.rho.new_empty(3 * members, *shape))
    fill_weight_moments(weight, moments.mean, moments.variance, moments.second)
    return moments
