"""The protocols of predictive classes, with the attributes that metrics need.

Any class is a predictive if it has a length, in points, and packs itself into arrays. It supports
the metrics whose attributes it has; others are "not scored". Optional attributes: `of_classes`,
True if targets are classes and False if they are real numbers; `summary()`, a smaller predictive to
store if this one is too large; `may_be_infinite`, the names of packed arrays that may contain
infinities, such as the log of a probability of 0.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

Kind = TypeVar("Kind")


class CannotAnswer(AttributeError):
    """A predictive cannot give an attribute's value; the message names the cause.

    If a property raises it, `hasattr` reports that the object lacks this attribute.
    """


@runtime_checkable
class Predictive(Protocol):
    """A predictive distribution, or part of one, for every requested point."""

    def __len__(self) -> int: ...

    def pack(self) -> Mapping[str, np.ndarray | Tensor]:
        """Return arrays of numbers from which `unpack` makes an equal predictive.

        A NaN in them means that inference has diverged.
        """
        ...

    @classmethod
    def unpack(cls, arrays: Mapping[str, Tensor]) -> "Predictive":
        """Return the predictive that was packed; all arrays are tensors on one device."""
        ...


class Packed:
    """Packing for a frozen dataclass whose fields are tensors or None."""

    def pack(self) -> Mapping[str, Tensor]:
        """Return the fields by name, without those that are None."""
        fields = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]
        tensors = {field.name: getattr(self, field.name) for field in fields}
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}

    @classmethod
    def unpack(cls: type[Kind], arrays: Mapping[str, Tensor]) -> Kind:
        """Return the predictive with these fields."""
        return cls(**arrays)


def require(prediction: object, *questions: str) -> None:
    """Raise `CannotAnswer` unless the prediction has each of these attributes."""
    if lacking := [name for name in questions if not hasattr(prediction, name)]:
        raise CannotAnswer(f"{type(prediction).__name__} has no {' and no '.join(lacking)}")


@runtime_checkable
class HasLogProb(Protocol):
    """A predictive with the log probability, or density, of each target."""

    def log_prob(self, target: Any) -> Float[Tensor, " points"]: ...


@runtime_checkable
class HasMean(Protocol):
    """A predictive with the mean of each output."""

    @property
    def mean(self) -> Float[Tensor, "points outputs"]: ...


@runtime_checkable
class HasVariance(Protocol):
    """A predictive with the variance of each output."""

    @property
    def variance(self) -> Float[Tensor, "points outputs"]: ...


@runtime_checkable
class HasCdf(Protocol):
    """A predictive with P(y ≤ target) of each output."""

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, "points outputs"]: ...


@runtime_checkable
class HasMoments(HasMean, HasVariance, Protocol):
    """A predictive with mean and variance."""


@runtime_checkable
class HasProbabilities(Protocol):
    """A predictive with the probability of every class."""

    @property
    def mixture_log_probs(self) -> Float[Tensor, "points classes"]: ...

    def log_prob(self, target: Int[Tensor, " points"]) -> Float[Tensor, " points"]: ...


@runtime_checkable
class HasExpectedEntropy(Protocol):
    """A predictive with the mean entropy of its draws."""

    @property
    def expected_entropy(self) -> Float[Tensor, " points"]: ...


@runtime_checkable
class HasDraws(HasProbabilities, HasExpectedEntropy, Protocol):
    """A predictive whose uncertainty splits into uncertainty within draws and between draws."""


@runtime_checkable
class HasSpread(HasProbabilities, Protocol):
    """A predictive with the distance of its draws from their mean; None if it was not stored."""

    @property
    def reverse_mutual_information(self) -> Float[Tensor, " points"] | None: ...


@runtime_checkable
class HasDrawLogProbs(Protocol):
    """A predictive with the log probability of each target under each of its draws.

    A draw is one function of the input; given it, targets of different points are independent.
    """

    def draw_log_probs(self, target: Any) -> Float[Tensor, "draws points"]: ...


@runtime_checkable
class HasQuantiles(Protocol):
    """A predictive with quantiles on a grid of levels, and nothing between them."""

    @property
    def levels(self) -> Float[Tensor, " levels"]: ...

    @property
    def values(self) -> Float[Tensor, "points outputs levels"]: ...


@runtime_checkable
class HasSamples(Protocol):
    """A predictive that is the empirical distribution of samples."""

    @property
    def samples(self) -> Float[Tensor, "draws points outputs"]: ...


@runtime_checkable
class HasInterval(Protocol):
    """A predictive with an interval intended to contain a share `level` of the targets."""

    @property
    def level(self) -> float: ...

    @property
    def low(self) -> Float[Tensor, "points outputs"]: ...

    @property
    def high(self) -> Float[Tensor, "points outputs"]: ...


@runtime_checkable
class HasSet(Protocol):
    """A predictive with a set of classes for each point."""

    @property
    def members(self) -> Tensor: ...
