"""The statistic of a single pixel: per channel, a mean and a variance over data and positions.

It starts from the statistics of the training inputs, propagates through the network as a function
of the weights only, and is used by AnalyticNorm for normalisation. All positions of a channel are
treated as independent and equal, and padding is ignored.

Sources: paper 001, section 4; Shekhovtsov and Flach (2018), "Normalization of Neural Networks
using Analytic Variance Propagation".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import (
    Formulas,
    linear_in_weights,
    member_by_member,
    moment_rules,
    normalised,
    of_both,
    refusal,
)
from bnnbench.methods.moments.units.maximum import max_pool
from bnnbench.methods.networks import architectures as vocabulary
from bnnbench.methods.networks.passes import Parameters, Pass, Rule
from bnnbench.methods.networks.torch_layers import affine, channel_moments


@dataclass(frozen=True)
class Pixel:
    """The moments that all positions of a channel share, and the shape of the image."""

    moments: Moments
    """Moments of shape `members 1 channels`."""
    sides: tuple[int, ...]
    """Height and width of the image; empty for a vector."""

    @classmethod
    def of(
        cls,
        mean: Float[Tensor, "members channels"],
        variance: Float[Tensor, "members channels"],
        sides: Sequence[int],
    ) -> "Pixel":
        """Return the statistic of inputs with these moments per channel."""
        return cls(Moments(mean.unsqueeze(1), variance.unsqueeze(1)), tuple(sides))

    @classmethod
    def of_data(cls, inputs: Sequence[Float[Tensor, "points *features"]]) -> "Pixel":
        """Return the statistic of each member's inputs."""
        pairs = [channel_moments(points) for points in inputs]
        mean, variance = (torch.stack(parts) for parts in zip(*pairs, strict=True))
        return cls.of(mean, variance, inputs[0].shape[2:])

    def __len__(self) -> int:
        return len(self.moments)

    def __add__(self, other: "Pixel") -> "Pixel":
        """Return the statistic of the sum of two independent images."""
        return replace(self, moments=self.moments + other.moments)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the moments."""
        return self.moments.shape

    def expand(self, *sizes: int) -> "Pixel":
        """Return the statistic expanded to `sizes`, without a copy."""
        return replace(self, moments=self.moments.expand(*sizes))

    @property
    def statistic(self) -> dict[str, Tensor]:
        """Mean and variance per member and channel, in the form that a norm uses."""
        assert self.moments.variance is not None
        return {"mean": self.moments.mean[:, 0], "variance": self.moments.variance[:, 0]}


def single_pixel_rules(formulas: Formulas) -> dict[type[vocabulary.Layer], Rule]:
    """Return the rules by which a `Pixel` passes through a network."""
    independent_rules = moment_rules(formulas)
    rules = {layer: _unchanged_sides(independent_rules[layer]) for layer in UNITWISE}
    return rules | {
        vocabulary.Linear: _unchanged_sides(linear_in_weights),
        vocabulary.Conv2d: convolution,
        vocabulary.MaxPool2d: lambda layer, _, x, context: largest(x, layer.size, formulas),
        vocabulary.AvgPool2d: lambda layer, _, x, context: average(
            x, layer.size**2, tuple(side // layer.size for side in x.sides)
        ),
        vocabulary.GlobalAvgPool2d: lambda layer, _, x, context: average(x, prod(x.sides), ()),
        vocabulary.Flatten: flatten,
        vocabulary.AnalyticNorm: analytic_norm,
        vocabulary.BatchNorm: refusal("AnalyticNorm, but no BatchNorm beside AnalyticNorm"),
        vocabulary.FeatureResponseNorm: refusal("AnalyticNorm alone"),
    }


UNITWISE: tuple[type[vocabulary.Layer], ...] = (
    vocabulary.ReLU,
    vocabulary.LeakyReLU,
    vocabulary.Swish,
    vocabulary.Tanh,
    vocabulary.Sigmoid,
    vocabulary.LogisticBernoulli,
    vocabulary.Dropout,
    vocabulary.GaussianNoise,
)
"""Layers that apply the same function to each unit separately."""


def _unchanged_sides(rule: Rule) -> Rule:
    def of_pixel(layer: Any, stacks: Sequence[Parameters], x: Pixel, context: Pass) -> Pixel:
        return replace(x, moments=rule(layer, stacks, x.moments, context))

    return of_pixel


def convolution(layer: vocabulary.Conv2d, stacks: Sequence[Parameters], x: Pixel, _: Pass) -> Pixel:
    """Return b + Σ m w and Σ v w², summed over input channels and the whole kernel."""
    (parameters,) = stacks
    mean, variance = x.moments.mean, x.moments.variance
    assert variance is not None
    kernel = parameters["weight"].flatten(3)
    moments = Moments(
        affine(mean, kernel.sum(-1), parameters.get("bias")),
        affine(variance, kernel.square().sum(-1)),
    )
    grown = (side + sum(layer.borders) - layer.kernel for side in x.sides)
    return Pixel(moments, tuple(extra // layer.stride + 1 for extra in grown))


def largest(x: Pixel, size: int, formulas: Formulas) -> Pixel:
    """Return the statistic of the maximum over a window of equal positions."""
    window = of_both(x.moments, lambda t: t[..., None, None].expand(*t.shape, size, size))
    pooled = member_by_member(partial(max_pool, size=size, variance=formulas.variance), window)
    sides = tuple(side // size for side in x.sides)
    return Pixel(of_both(pooled, lambda t: t.squeeze((-2, -1))), sides)


def average(x: Pixel, count: int, sides: tuple[int, ...]) -> Pixel:
    """Return the statistic of the average of `count` positions."""
    variance = x.moments.variance
    assert variance is not None
    return Pixel(replace(x.moments, variance=variance / count), sides)


def flatten(layer: vocabulary.Flatten, _: Sequence[Parameters], x: Pixel, __: Pass) -> Pixel:
    """Return a vector that repeats each channel's statistic for every position."""
    return Pixel(of_both(x.moments, lambda t: t.repeat_interleave(prod(x.sides), -1)), ())


def analytic_norm(
    layer: vocabulary.AnalyticNorm, stacks: Sequence[Parameters], x: Pixel, _: Pass
) -> Pixel:
    """Return β and γ² v/(v + ε), the statistic of the norm's output."""
    return replace(x, moments=normalised(x.moments, stacks, x.statistic, layer.epsilon))


SINGLE_PIXEL_RULES = single_pixel_rules(Formulas())
