"""The protocol of test conditions: a split to be scored, an origin, a name and traits."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from bnnbench.datasets.base import Dataset, ImageSource, Split
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.origins import Origin

Self = TypeVar("Self")
Resolve = Callable[[ImageSource], ImageSource]
"""A function from a source to one whose test images can be read."""


@runtime_checkable
class Condition(Protocol):
    """A frozen dataclass that selects the split to be scored from a data set."""

    @property
    def name(self) -> str:
        """The key of its scores in a record, such as "ood_svhn"; it determines the condition."""
        ...

    @property
    def traits(self) -> Traits:
        """The title and facts by which pages name and group the condition."""
        ...

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the other sources whose test images the condition needs."""
        ...

    def with_sources(self: Self, resolve: Resolve) -> Self:
        """Return the condition with each of its sources replaced by `resolve(source)`."""
        ...

    def origin(self, dataset: Dataset) -> Origin:
        """Return the least official origin among the scored data."""
        ...

    def select(self, dataset: Dataset) -> Split:
        """Return the split to be scored; callers share it and must not change it."""
        ...


class WithoutSources:
    """A condition that needs nothing but the data set."""

    def sources(self) -> tuple[ImageSource, ...]:
        """Return nothing."""
        return ()

    def with_sources(self: Self, resolve: Resolve) -> Self:
        """Return the condition."""
        return self

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's origin."""
        return dataset.origin
