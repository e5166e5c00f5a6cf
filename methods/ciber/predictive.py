"""Predictive distributions that are exact over a box of weights, mixed over samples.

Every component belongs to one sample of the weights outside the box, with triangular noise. A
floor adds a constant density, because the support of the mixture is compact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.integration.rectified import RectifiedSum
from bnnbench.methods.integration.sums import SumOfUniforms
from bnnbench.methods.predictions.base import Packed

Kind = TypeVar("Kind", bound="_Collapsed")
CHUNK_VALUES = 2**22
"""Number of values in a chunk of points, to bound memory."""
KEPT_COMPONENTS = 100_000
"""Maximum of draws times points for which computed components are cached: about 300 MB."""


@dataclass(frozen=True)
class _Collapsed(Packed):
    """The common base of these predictives, for any effect of the box on a network's output."""

    half_bases: Float[Tensor, "draws points 1"]
    """Half the base of the triangular noise, whose variance is r²/6."""
    floor: Float[Tensor, "1 points 4"]
    """epsilon, low, high and margin.

    The density is (p + epsilon 1[low ≤ y ≤ high]) / (1 + epsilon (high - low)), a mixture with
    a uniform. With infinite bounds it is the mean over draws of (p_s + epsilon) / (P_s + epsilon
    (high - low)), truncated to the range of the scored targets plus a margin, where P_s is the
    mass in that range. A row's density then depends on the other rows, and the cdf has no floor.
    Mean and variance never include a floor.
    """

    of_classes: ClassVar[bool] = False
    may_be_infinite: ClassVar[tuple[str, ...]] = ("floor",)

    def __len__(self) -> int:
        return self.half_bases.shape[1]

    @property
    def components(self) -> SumOfUniforms | RectifiedSum:
        """The distribution of each draw at each point, including noise."""
        raise NotImplementedError

    @property
    def _noise(self) -> Float64[Tensor, "draws points 2"]:
        return self.half_bases.double().expand(-1, -1, 2)

    def with_floor(self: Kind, *numbers: float) -> Kind:
        """Return the distribution with another floor: epsilon, low, high, margin."""
        floor = self.floor.new_tensor(numbers, dtype=torch.float64)
        return replace(self, floor=floor.expand(1, len(self), 4))

    def density(self, target: Float[Tensor, "points 1"]) -> Float64[Tensor, " points"]:
        """Return the mean density of all draws, without floor; 0 outside their support."""
        return self._of_components(target, "density").mean(0)

    def log_prob(self, target: Float[Tensor, "points 1"]) -> Float64[Tensor, " points"]:
        """Return the log density of each target, including the floor."""
        epsilon, low, high, margin = self.floor[0].double().unbind(-1)
        y = target[:, 0].double()
        if not self._truncates:
            inside = (low <= y) & (y <= high)
            constant = torch.where(epsilon > 0, epsilon * inside, 0.0)
            return ((self.density(target) + constant) / self._total).log()
        low, high = (y.min() - margin)[:, None], (y.max() + margin)[:, None]
        mass = self._of_components(high, "cdf") - self._of_components(low, "cdf")
        total = mass.clamp(min=0.0) + epsilon * (high - low)[:, 0]
        shares = (self._of_components(target, "density") + epsilon) / total
        # A draw without mass in the range contributes 0.
        return torch.where(total > 0, shares, 0.0).mean(0).log()

    def cdf(self, target: Float[Tensor, "points 1"]) -> Float64[Tensor, "points 1"]:
        """Return P(y ≤ target)."""
        below = self._of_components(target, "cdf").mean(0)
        if self._truncates:
            return below[:, None]
        epsilon, low, high, _ = self.floor[0].double().unbind(-1)
        uniform = torch.minimum(target[:, 0].double(), high).sub(low).clamp(min=0.0)
        constant = torch.where(epsilon > 0, epsilon * uniform, 0.0)
        return ((below + constant) / self._total)[:, None]

    @property
    def mean(self) -> Float64[Tensor, "points 1"]:
        """The mean over draws, without floor."""
        return self._moments[0][:, None]

    @property
    def variance(self) -> Float64[Tensor, "points 1"]:
        """The variance of the mixture of draws, without floor."""
        return self._moments[1][:, None]

    @cached_property
    def _moments(self) -> tuple[Tensor, Tensor]:
        components = self.components
        means = components.mean.double()
        return means.mean(0), components.variance.mean(0) + means.var(0, correction=0)

    @property
    def _truncates(self) -> bool:
        return bool(self.floor[..., 1:3].isinf().any())

    @cached_property
    def _total(self) -> Float64[Tensor, " points"]:
        """The total mass of density and floor."""
        epsilon, low, high, _ = self.floor[0].double().unbind(-1)
        return torch.where(epsilon > 0, 1 + epsilon * (high - low), 1.0)

    def _of_components(self, target: Tensor, name: str) -> Float64[Tensor, "draws points"]:
        """Return the density or the cdf of every draw, computed in chunks of points.

        Rounding could make a density slightly negative, or move a cdf outside [0, 1]: both are
        clamped.
        """
        small = self.half_bases.numel() <= KEPT_COMPONENTS
        chunks = self._cached_chunks if small else self._chunks()
        values = torch.cat([getattr(part, name)(target[rows, 0]) for rows, part in chunks], 1)
        return values.clamp(min=0.0) if name == "density" else values.clamp(0.0, 1.0)

    @cached_property
    def _cached_chunks(self) -> list[tuple[slice, SumOfUniforms | RectifiedSum]]:
        """All chunks, for scores that evaluate the cdf many times."""
        return list(self._chunks())

    def _chunks(self) -> Iterator[tuple[slice, SumOfUniforms | RectifiedSum]]:
        """Yield chunks of points and their components."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        per_point = sum(tensor[:, :1].numel() for tensor in tensors.values())
        size = max(1, CHUNK_VALUES // (32 * per_point))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            part = replace(self, **{name: tensor[:, rows] for name, tensor in tensors.items()})
            yield rows, part.components

    def _rescaled_noise(self, mean: float, std: float) -> dict[str, Tensor]:
        epsilon, low, high, margin = self.floor.double().unbind(-1)
        floor = torch.stack([epsilon / std, mean + std * low, mean + std * high, std * margin], -1)
        return {"half_bases": std * self.half_bases.double(), "floor": floor}


@dataclass(frozen=True)
class AffinePredictive(_Collapsed):
    """Predictive of networks that are affine in the box: sums of uniforms, including noise."""

    centres: Float[Tensor, "draws points 1"]
    widths: Float[Tensor, "draws points uniforms"]

    @property
    def components(self) -> SumOfUniforms:
        """The distribution of each draw at each point, including noise."""
        widths = torch.cat([self.widths.double(), self._noise], -1)
        return SumOfUniforms(self.centres[..., 0], widths)

    def rescaled(self, mean: float, std: float) -> "AffinePredictive":
        """Return the distribution of mean + std * y."""
        return AffinePredictive(
            **self._rescaled_noise(mean, std),
            centres=mean + std * self.centres.double(),
            widths=std * self.widths.double(),
        )


@dataclass(frozen=True)
class RectifiedPredictive(_Collapsed):
    """Predictive of networks with the box before ReLUs; the first unit may have several weights."""

    offsets: Float[Tensor, "draws points 1"]
    outgoing: Float[Tensor, "draws points units"]
    centres: Float[Tensor, "draws points units"]
    """Centres of the units' inputs."""
    widths: Float[Tensor, "draws points units uniforms"]

    @property
    def components(self) -> RectifiedSum:
        """The distribution of each draw at each point, including noise."""
        return RectifiedSum(
            self.offsets[..., 0], self.outgoing, self.centres, self.widths, self._noise
        )

    def rescaled(self, mean: float, std: float) -> "RectifiedPredictive":
        """Return the distribution of mean + std * y."""
        return RectifiedPredictive(
            **self._rescaled_noise(mean, std),
            offsets=mean + std * self.offsets.double(),
            outgoing=std * self.outgoing.double(),
            centres=self.centres,
            widths=self.widths,
        )
