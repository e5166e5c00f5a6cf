"""One pass through a network: what a rule is, and its arguments besides parameters and input."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Generator, Tensor

from bnnbench.methods.fitting.randomness import Streams

Noise = Literal["off", "per_example", "shared"]
"""Draws of Dropout, GaussianNoise and LogisticBernoulli: none, one draw per example, or one
draw per member shared by all points, so that a member is the same function at every point."""

Parameters = Mapping[str, Tensor]
"""A layer's parameters by name, each with a leading axis of members."""


@dataclass(frozen=True)
class Pass:
    """One pass through a network: the facts that rules need besides parameters and input."""

    training: bool
    noise: Noise
    rngs: Sequence[Generator] | Streams | None
    momentum: float | None = None
    """Momentum that replaces every BatchNorm's."""

    def draw(self, x: Tensor, fill: Callable[[Tensor, Generator], object]) -> Tensor:
        """Return noise that broadcasts against `x`, each member's from its own generator."""
        if self.rngs is None or len(self.rngs) != len(x):
            given = "none" if self.rngs is None else str(len(self.rngs))
            raise ValueError(f"needed rngs, one for each of {len(x)} members; got {given}")
        streams = self.rngs if isinstance(self.rngs, Streams) else Streams(self.rngs)
        points = 1 if self.noise == "shared" else x.shape[1]
        noise = x.new_empty(len(streams.distinct), points, *x.shape[2:])
        for row, rng in zip(noise, streams.distinct, strict=True):
            fill(row, rng)
        return streams.to_members(noise)


Rule = Callable[[Any, Sequence[Parameters], Any, Pass], Any]
"""layer, its parameters from each stack of weights, input, pass -> output."""
