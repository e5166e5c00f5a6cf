"""Units with a limited number of directions of their covariances."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.correlated import (
    CorrelatedMoments,
    JointlyRandom,
    mix,
    of_images,
)
from bnnbench.methods.moments.covariances.directions import LinearMap
from bnnbench.methods.moments.covariances.hermite import Expansion


@dataclass(frozen=True)
class LowRankMoments(JointlyRandom):
    """Units with covariance diag(variance - Σ factor²) + factorᵀ factor.

    The variances are as exact as the covariances before them; what the factor omits is treated as
    independent. Compression selects the `rank` directions that the next weights amplify most (see
    `directions`), and propagates them with the exact covariances of each point.
    """

    mean: Float[Tensor, "members points *units"]
    variance: Float[Tensor, "members points *units"]
    factor: Float[Tensor, "members points columns *units"]
    rank: int

    @classmethod
    def of(cls, x: Moments, rank: int) -> "LowRankMoments":
        """Return independent units."""
        variance = torch.zeros_like(x.mean) if x.variance is None else x.variance
        members, points, *units = x.shape
        return cls(x.mean, variance, x.mean.new_zeros(members, points, 0, *units), rank)

    @property
    def remainder(self) -> Float[Tensor, "members points *units"]:
        """The part of each unit's variance that is independent of the others."""
        return (self.variance - self.factor.square().sum(2)).clamp(min=0)

    @property
    def covariance(self) -> Float[Tensor, "members points all all"]:
        """All covariances of units, in the order of Flatten."""
        columns = self.factor.flatten(3)
        return columns.mT @ columns + torch.diag_embed(self.remainder.flatten(2))

    def expand(self, *sizes: int) -> "LowRankMoments":
        """Return the moments for this number of members, without a copy."""
        factor = self.factor.expand(sizes[0], *self.factor.shape[1:])
        return replace(
            self,
            mean=self.mean.expand(*sizes),
            variance=self.variance.expand(*sizes),
            factor=factor,
        )

    def reshaped(self, mean: Tensor) -> "LowRankMoments":
        """Return the same units in another shape."""
        units = mean.shape[2:]
        factor = self.factor.reshape(*self.factor.shape[:3], *units)
        return replace(self, mean=mean, variance=self.variance.reshape(mean.shape), factor=factor)

    def mapped(
        self, mean: Tensor, maps: Sequence[LinearMap], extra: Tensor | None = None
    ) -> "LowRankMoments":
        """Return A Σ Aᵀ with each member's map, compressed, plus `extra` independent variance."""
        rows = [
            _compressed(m, f, r, self.rank)
            for m, f, r in zip(maps, self.factor, self.remainder, strict=True)
        ]
        factor, variance = (torch.stack(parts) for parts in zip(*rows, strict=True))
        if extra is not None:
            variance = variance + extra
        return LowRankMoments(mean, variance, factor, self.rank)

    def averaged(
        self, mean: Tensor, average: Callable[[Tensor], Tensor], count: int
    ) -> "LowRankMoments":
        """Return the averages, computed by `average`, over disjoint windows of `count` units."""
        factor = of_images(average, self.factor, 3)
        alone = of_images(average, self.remainder, 2) / count
        return replace(self, mean=mean, variance=factor.square().sum(2) + alone, factor=factor)

    def unitwise(self, y: Moments, expansion: Expansion) -> "LowRankMoments":
        """Return a function of each single unit, to first order; `y` has its moments."""
        assert y.variance is not None
        factor = self.factor * expansion.slope.unsqueeze(2)
        return replace(self, mean=y.mean, variance=y.variance, factor=factor)

    def between(self, i: Tensor, j: Tensor) -> Float[Tensor, "members points pairs"]:
        """Return the covariances of the units i with the units j."""
        columns = self.factor.flatten(3)
        shared = (columns[..., i] * columns[..., j]).sum(2)
        return shared + (i == j) * self.remainder.flatten(2)[..., i]

    def joined(
        self, i: Tensor, j: Tensor, y: Moments, share: Float[Tensor, "members points pairs"]
    ) -> "LowRankMoments":
        """Return functions, with moments `y`, of the pairs (i, j); `share` is E of i's gradient."""
        assert y.variance is not None
        factor = mix(self.factor.flatten(3), i, j, share.unsqueeze(2))
        return replace(self, mean=y.mean, variance=y.variance, factor=factor)


def _compressed(
    linear: LinearMap, factor: Tensor, remainder: Tensor, rank: int
) -> tuple[Tensor, Tensor]:
    """Return the factor after one member's map, with at most `rank` columns, and the variances.

    With M = [factorᵀ, diag(√remainder)] and directions V, the columns of AM are projected onto
    the span of MᵀV; the covariance of the omitted part is positive semidefinite, too. Gradients
    treat the span as constant, and are exact if nothing is omitted.
    """
    through = of_images(linear.apply, factor, 2)
    variance = linear.squared(remainder) + through.square().sum(1)
    directions = linear.directions(rank)
    alone = remainder.flatten(1).unsqueeze(1)
    # √r √r₀ with the constant r₀ = r: the gradient is 1/2, even at 0
    weighted = directions * ((alone + alone.detach()) / 2)
    shared = directions @ factor.detach().flatten(2).mT
    gram = shared @ shared.mT + weighted.detach() @ directions.T
    size = gram.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    tiny = torch.finfo(gram.dtype)
    ridge = (10 * tiny.eps * size).clamp(min=tiny.tiny / tiny.eps)
    unit = torch.eye(gram.shape[-1]).to(gram)
    root = torch.linalg.cholesky(gram + ridge * unit)
    inverse_root = torch.linalg.solve_triangular(root, unit.expand_as(root), upper=False)
    from_alone = of_images(linear.apply, weighted.unflatten(2, remainder.shape[1:]), 2)
    together = torch.baddbmm(from_alone.flatten(2), shared, through.flatten(2))
    return (inverse_root @ together).view_as(from_alone), variance


Joint = CorrelatedMoments | LowRankMoments
"""Jointly random units in either form."""
