"""Max pooling of correlated units."""

import torch
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.low_rank import Joint
from bnnbench.methods.moments.units import standard
from bnnbench.methods.moments.units.maximum import maximum


def max_pool(x: Joint, size: int) -> Joint:
    r"""Return maxima of windows of side `size`: a tree within each row, then a tree over rows.

    For a pair, $\operatorname{Cov}[\max(X, Y), Z] = \Phi(a) \operatorname{Cov}[X, Z] + \Phi(-a)
    \operatorname{Cov}[Y, Z]$, which is exact if all are jointly normal; intermediate maxima are
    treated as normal. A ragged border is dropped.
    """
    *outer, height, width = x.shape[2:]
    down, across = height // size, width // size
    slots = torch.arange(x.mean[0, 0].numel(), device=x.mean.device).view(-1, height, width)
    slots = slots[:, : down * size, : across * size]
    slots = slots.unflatten(2, (across, size)).unflatten(1, (down, size)).transpose(2, 3)
    x = x.reshaped(x.mean.flatten(2))
    while slots.shape[-1] > 1:
        x, slots = _halved(x, slots)
    slots = slots.squeeze(-1)
    while slots.shape[-1] > 1:
        x, slots = _halved(x, slots)
    return x.reshaped(x.mean.unflatten(2, (*outer, down, across)))  # in the order of slots


def _halved(x: Joint, slots: Tensor) -> tuple[Joint, Tensor]:
    """Return the maxima of neighbours along the last axis of slots, and their new slots.

    A last unit without a neighbour is left unchanged.
    """
    paired = slots.shape[-1] // 2 * 2
    i, j, single = (slots[..., part].flatten() for part in _parts(paired))
    means, variances, shared = x.mean, x.variance, x.between(i, j)
    largest = maximum(
        Moments(means[..., i], variances[..., i]), Moments(means[..., j], variances[..., j]), shared
    )
    assert largest.variance is not None
    spread = (variances[..., i] + variances[..., j] - 2 * shared).clamp(min=0)
    share = standard.normal_cdf(standard.standardised(means[..., i] - means[..., j], spread))
    y = Moments(
        torch.cat([largest.mean, means[..., single]], -1),
        torch.cat([largest.variance, variances[..., single]], -1),
    )
    share = torch.cat([share, torch.ones_like(means[..., single])], -1)
    joined = x.joined(torch.cat([i, single]), torch.cat([j, single]), y, share)
    new = torch.arange(len(i) + len(single), device=slots.device).split([len(i), len(single)])
    leading = slots.shape[:-1]
    places = [part.view(*leading, -1) for part in new if len(part)]
    return joined, torch.cat(places, -1)


def _parts(paired: int) -> tuple[slice, slice, slice]:
    return slice(0, paired, 2), slice(1, paired, 2), slice(paired, None)
