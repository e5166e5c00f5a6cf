"""Units with all their covariances.

Like all jointly random units, they pass through `TorchNetwork` in the same way as `Moments`. They
implement linear maps, functions of a unit and functions of a pair; the rules say which of these a
layer is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import factorial, prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.directions import LinearMap
from bnnbench.methods.moments.covariances.hermite import Expansion
from bnnbench.methods.moments.units.standard import LEAST_VARIANCE


class JointlyRandom:
    """The base class of both forms; residual connections are not supported."""

    mean: Any

    def __len__(self) -> int:
        return len(self.mean)

    def __add__(self, other: object) -> "JointlyRandom":
        raise Unsupported(
            "needed a network without Residual, whose branches have unknown covariances; "
            "use moments of independent units, without Covariances"
        )

    __radd__ = __add__

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the mean."""
        return tuple(self.mean.shape)


@dataclass(frozen=True)
class CorrelatedMoments(JointlyRandom):
    """Jointly random units with all their covariances, in the order of Flatten."""

    mean: Float[Tensor, "members points *units"]
    covariance: Float[Tensor, "members points all all"]

    @classmethod
    def of(cls, x: Moments) -> "CorrelatedMoments":
        """Return independent units."""
        variance = torch.zeros_like(x.mean) if x.variance is None else x.variance
        return cls(x.mean, torch.diag_embed(variance.flatten(2)))

    @classmethod
    def behind(
        cls, x: Moments, mean: Tensor, maps: Sequence[LinearMap], extra: Tensor | None = None
    ) -> "CorrelatedMoments":
        """Return `of(x).mapped(mean, maps, extra)` for dense layers without x's covariances."""
        assert x.variance is not None
        rows = [
            of_images(m.apply, m.weight * variance.unsqueeze(1), 2)
            for m, variance in zip(maps, x.variance, strict=True)
        ]
        return cls(mean, _plus_diagonal(torch.stack(rows), extra))

    @property
    def variance(self) -> Float[Tensor, "members points *units"]:
        """The diagonal of the covariances, in the shape of the mean."""
        return self.covariance.diagonal(dim1=-2, dim2=-1).reshape(self.shape)

    def expand(self, *sizes: int) -> "CorrelatedMoments":
        """Return the moments for this number of members, without a copy."""
        members = sizes[0]
        covariance = self.covariance.expand(members, *self.covariance.shape[1:])
        return CorrelatedMoments(self.mean.expand(*sizes), covariance)

    def reshaped(self, mean: Tensor) -> "CorrelatedMoments":
        """Return the same units in another shape."""
        return replace(self, mean=mean)

    def mapped(
        self, mean: Tensor, maps: Sequence[LinearMap], extra: Tensor | None = None
    ) -> "CorrelatedMoments":
        """Return A Σ Aᵀ with each member's map, plus `extra` independent variance."""
        rows = [
            _both_sides(m.apply, c, m.inputs) for m, c in zip(maps, self.covariance, strict=True)
        ]
        return CorrelatedMoments(mean, _plus_diagonal(torch.stack(rows), extra))

    def averaged(
        self, mean: Tensor, average: Callable[[Tensor], Tensor], count: int
    ) -> "CorrelatedMoments":
        """Return the averages, computed by `average`, over disjoint windows of `count` units."""
        rows = [_both_sides(average, c, self.shape[2:]) for c in self.covariance]
        return CorrelatedMoments(mean, torch.stack(rows))

    def unitwise(self, y: Moments, expansion: Expansion) -> "CorrelatedMoments":
        """Return a function of each single unit; `y` has its moments."""
        assert y.variance is not None
        covariance = _outer(expansion.slope) * self.covariance
        if expansion.higher:
            std = self.variance.clamp(min=LEAST_VARIANCE).sqrt()
            correlation = _outer(1 / std) * self.covariance
            power = correlation
            for k, coefficient in enumerate(expansion.higher, 2):
                power = power * correlation
                covariance = covariance + _outer(coefficient) * power / factorial(k)
        return CorrelatedMoments(y.mean, _with_diagonal(covariance, y.variance))

    def between(self, i: Tensor, j: Tensor) -> Float[Tensor, "members points pairs"]:
        """Return the covariances of the units i with the units j."""
        return self.covariance[..., i, j]

    def joined(
        self, i: Tensor, j: Tensor, y: Moments, share: Float[Tensor, "members points pairs"]
    ) -> "CorrelatedMoments":
        """Return functions, with moments `y`, of the pairs (i, j); `share` is E of i's gradient."""
        assert y.variance is not None
        half = mix(self.covariance, i, j, share.unsqueeze(-2))
        whole = mix(half.mT, i, j, share.unsqueeze(-2))
        return CorrelatedMoments(y.mean, _with_diagonal(whole, y.variance))


def of_images(apply: Callable[[Tensor], Tensor], x: Tensor, axes: int) -> Tensor:
    """Return `apply(x)`, with the first `axes` axes merged into one axis of images."""
    leading = x.shape[:axes]
    if not prod(leading):
        return apply(x.new_zeros(1, *x.shape[axes:]))[:0].unflatten(0, leading)
    return apply(x.flatten(0, axes - 1)).unflatten(0, leading)


def _both_sides(
    apply: Callable[[Tensor], Tensor], covariance: Tensor, units: Sequence[int]
) -> Tensor:
    """Return A Σ Aᵀ for each point; `apply` maps images of these units."""
    for _ in range(2):
        images = covariance.unflatten(-1, tuple(units))
        covariance = of_images(apply, images, 2).flatten(2).mT
    return covariance


def _outer(x: Tensor) -> Tensor:
    flat = x.flatten(2)
    return flat.unsqueeze(-1) * flat.unsqueeze(-2)


def _plus_diagonal(covariance: Tensor, extra: Tensor | None) -> Tensor:
    return covariance if extra is None else covariance + torch.diag_embed(extra.flatten(2))


def _with_diagonal(covariance: Tensor, variance: Tensor) -> Tensor:
    return torch.diagonal_scatter(covariance, variance.flatten(2), dim1=-2, dim2=-1)


def mix(x: Tensor, i: Tensor, j: Tensor, share: Tensor) -> Tensor:
    return share * x[..., i] + (1 - share) * x[..., j]
