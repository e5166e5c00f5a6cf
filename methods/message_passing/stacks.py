"""Tensors that one product processes together, stacked along the axis of members.

A layer's map (maps/base.py) multiplies all parts of a stack in one library call. The parts
are views, so that filling a part fills the stack.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from jaxtyping import Float
from torch import Tensor

Together = Float[Tensor, "stacked_members *shape"]
Part = Float[Tensor, "members *shape"]
AnyStack = TypeVar("AnyStack", bound="Stack")
AnySums = TypeVar("AnySums", bound="Sums")


@dataclass(frozen=True, slots=True)
class Stack:
    """The whole tensor; all other fields of a subclass are parts of it."""

    stacked: Together

    @classmethod
    def of(cls: type[AnyStack], stacked: Together) -> AnyStack:
        """Return the stack split into its parts, in the order of the fields."""
        return cls(stacked, *stacked.chunk(len(cls.__dataclass_fields__) - 1))

    def parts(self) -> tuple[Part, ...]:
        """Return all parts, in the order of the fields."""
        _, *names = self.__dataclass_fields__
        return tuple(getattr(self, name) for name in names)


@dataclass(frozen=True, slots=True)
class Sums:
    """The parts of one product of two stacks, or the products of each pair of their parts."""

    @classmethod
    def of(cls: type[AnySums], stacked: Together) -> AnySums:
        """Return a whole tensor split into its parts."""
        return cls(*stacked.chunk(len(cls.__dataclass_fields__)))

    def parts(self) -> tuple[Part, ...]:
        """Return all parts, in the order of the fields."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    @classmethod
    def by(
        cls: type[AnySums],
        product: Callable[[Tensor, Tensor], Tensor],
        apart: bool,
        a: Stack,
        b: Stack,
    ) -> AnySums:
        """Return the products of a's parts with b's first parts: `apart`, or all in one call."""
        if apart:
            return cls(*(product(*pair) for pair in zip(a.parts(), b.parts(), strict=False)))
        return cls.of(product(a.stacked, b.stacked[: len(a.stacked)]))


@dataclass(frozen=True, slots=True)
class InputMoments(Stack):
    """Moments of the random inputs a of a later layer."""

    mean: Part
    square: Part
    """The square of the mean."""
    variance: Part


@dataclass(frozen=True, slots=True)
class WeightMoments(Stack):
    """Moments of the weights w of a layer."""

    mean: Part
    variance: Part
    second: Part
    """E[w²]."""


@dataclass(frozen=True, slots=True)
class LaterSums(Sums):
    """Moments of Σ w a in a later layer: the product of `InputMoments` and `WeightMoments`."""

    mean: Part
    by_weights: Part
    """The variance due to the layer's weights."""
    by_inputs: Part
    """The variance due to the inputs, and thus to the layers below."""


@dataclass(frozen=True, slots=True)
class LaterPulls(Stack):
    """Forces h and gains g of messages to a later layer's pre-activations (maps/sums.py)."""

    force: Part
    gain: Part
    gain_again: Part
    """A copy of the gain, as two of three products need it."""


@dataclass(frozen=True, slots=True)
class LaterWeightSums(Sums):
    """Sums over examples that form a later layer's messages to weights."""

    force: Part
    """Σ h E[a]."""
    gain_of_square: Part
    """Σ g E[a]²."""
    gain_of_variance: Part
    """Σ g Var[a]."""


@dataclass(frozen=True, slots=True)
class InputSums(Sums):
    """Sums over outputs that form a later layer's messages to inputs."""

    force: Part
    """Σ h E[w]."""
    gain_of_variance: Part
    """Σ g Var[w]."""
    precision: Part
    """Σ g E[w²]."""


@dataclass(frozen=True, slots=True)
class Powers(Stack):
    """Observed inputs x of a first layer, and their squares."""

    value: Part
    square: Part


@dataclass(frozen=True, slots=True)
class FirstSums(Sums):
    """Mean and variance of Σ w x in a first layer if all rows share the weights' moments."""

    mean: Part
    variance: Part


@dataclass(frozen=True, slots=True)
class FirstPulls(Stack):
    """Forces h and gains g of messages to a first layer's pre-activations (maps/sums.py)."""

    force: Part
    gain: Part


@dataclass(frozen=True, slots=True)
class FirstWeightSums(Sums):
    """Sums over rows that form a first layer's messages to weights."""

    force: Part
    """Σ h x."""
    gain: Part
    """Σ g x²."""


@dataclass(frozen=True, slots=True)
class HigherPowers(Stack):
    """Third and fourth powers of observed inputs x."""

    cube: Part
    fourth: Part


@dataclass(frozen=True, slots=True)
class GainProducts(Stack):
    """Products of gains g with the change of forces h, and squares of gains."""

    change: Part
    """g (h - old h)."""
    square: Part
    """g²."""


@dataclass(frozen=True, slots=True)
class CorrectionSums(Sums):
    """Sums over rows that correct a first layer's messages to weights to first order."""

    change: Part
    """Σ g (h - old h) x³."""
    square: Part
    """Σ g² x⁴."""
