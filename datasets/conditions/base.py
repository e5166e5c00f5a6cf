"""Test splits: all rows or those among the training inputs; other images among them; turned."""

import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Dataset, ImageSource, Origin, Scaling, Split
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.images import CHUNK, as_inputs

Self = TypeVar("Self")
Resolve = Callable[[ImageSource], ImageSource]
"""From a source to one whose test images can be read."""

ORIGINS: tuple[Origin, ...] = ("original", "generated", "subset", "stand-in")
"""From the best to the least."""

UNNORMALISED = "_unnormalised"
INTENSITIES = Scaling(torch.zeros(()), torch.ones(()))
"""Leaves an image as it is, on the scale of [0, 1]."""


@runtime_checkable
class Condition(Protocol):
    """A frozen dataclass that takes a data set to the split to be scored."""

    @property
    def name(self) -> str:
        """The name in tables, such as "ood_svhn"."""
        ...

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the other sources whose test images it needs."""
        ...

    def with_sources(self: Self, resolve: Resolve) -> Self:
        """Return the condition with each of its sources replaced by `resolve(source)`."""
        ...

    def origin(self, dataset: Dataset) -> Origin:
        """Return the least origin among the data that are scored."""
        ...

    def select(self, dataset: Dataset) -> Split:
        """Return the split to be scored; callers share it and must not change it."""
        ...


@dataclass(frozen=True)
class Clean:
    """The test split as it is."""

    name: str = dataclasses.field(default="clean", init=False)

    def sources(self) -> tuple[ImageSource, ...]:
        """Return nothing."""
        return ()

    def with_sources(self, resolve: Resolve) -> "Clean":
        """Return the condition."""
        return self

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's."""
        return dataset.origin

    def select(self, dataset: Dataset) -> Split:
        """Return the test split."""
        return dataset.test


@dataclass(frozen=True)
class Inside:
    """The test rows whose every feature lies between the least and the largest in training."""

    name: str = dataclasses.field(default="inside", init=False)

    def sources(self) -> tuple[ImageSource, ...]:
        """Return nothing."""
        return ()

    def with_sources(self, resolve: Resolve) -> "Inside":
        """Return the condition."""
        return self

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's."""
        return dataset.origin

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the rows; raises ValueError where there are none."""
        train, test = dataset.train.inputs.flatten(1), dataset.test.inputs.flatten(1)
        within = ((test >= train.amin(0)) & (test <= train.amax(0))).all(1)
        if not within.any():
            raise ValueError("no test row lies inside the range of the training inputs")
        return dataset.test.rows(within.nonzero().squeeze(1))


@dataclass(frozen=True)
class First:
    """The first test rows, for methods that predict slowly."""

    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError(f"needed at least 1 row; got {self.rows}")

    @property
    def name(self) -> str:
        """Such as "first_200_rows"."""
        return f"first_{self.rows}_rows"

    def sources(self) -> tuple[ImageSource, ...]:
        """Return nothing."""
        return ()

    def with_sources(self, resolve: Resolve) -> "First":
        """Return the condition."""
        return self

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's, or "subset" where rows of it are left out."""
        whole = dataset.origin in ("original", "generated") and len(dataset.test) > self.rows
        return "subset" if whole else dataset.origin

    def select(self, dataset: Dataset) -> Split:
        """Return the rows, all of them where there are fewer."""
        return dataset.test.rows(slice(self.rows))


@dataclass(frozen=True)
class OutOfDistribution:
    """The test inputs, then another source's test images; the target is 1 for the latter.

    All images go through the preprocessing of the data set that was learned, or those from
    elsewhere through none: intensities in [0, 1] for a network that knows standardised ones.
    Grey images are repeated for a network that sees colours.
    """

    source: ImageSource
    normalised: bool = True

    @property
    def name(self) -> str:
        """The name of the other source, after "ood_", and before what was left undone to it."""
        return f"ood_{self.source.name}" + ("" if self.normalised else UNNORMALISED)

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the other source."""
        return (self.source,)

    def with_sources(self, resolve: Resolve) -> "OutOfDistribution":
        """Return the condition with the other source resolved."""
        return dataclasses.replace(self, source=resolve(self.source))

    def origin(self, dataset: Dataset) -> Origin:
        """Return the lesser origin of the two."""
        return ORIGINS[max(ORIGINS.index(dataset.origin), ORIGINS.index(self.source.origin))]

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return both sets; raises ValueError where the images differ in shape."""
        known = dataset.test.inputs
        images, _ = self.source.images("test")
        if images.shape[-1] == 1 and known.ndim == 4 and known.shape[1] == 3:
            images = images.repeat(3, axis=-1)
        shape = (images.shape[3], *images.shape[1:3])
        if tuple(known.shape[1:]) != shape:
            raise ValueError(
                f"{self.source.name} has images of shape {shape}, but the network sees "
                f"{tuple(known.shape[1:])}: choose another source for the condition {self.name}"
            )
        foreign = as_inputs(images, dataset.scaling if self.normalised else INTENSITIES)
        targets = torch.arange(len(known) + len(foreign)) >= len(known)
        return Split(torch.cat([known, foreign]), targets.long())


@dataclass(frozen=True)
class Rotated:
    """The test images turned counter-clockwise about their centre, on a black ground.

    Bilinear between pixel centres, never rounded to 8 bits; what lies outside the image is
    black. Output pixel (u, v), counted from the centre to the right and down, reads
    (u cos t - v sin t, u sin t + v cos t). With this sense, interpolation and ground, an MLP
    reproduces the rotated MNIST tables of "Function-space variational inference for deep
    Bayesian classification", which states none of them; the other sense does not.
    """

    degrees: int | float

    @property
    def name(self) -> str:
        """The degrees, after "rotated_"."""
        return f"rotated_{self.degrees:g}"

    def sources(self) -> tuple[ImageSource, ...]:
        """Return nothing."""
        return ()

    def with_sources(self, resolve: Resolve) -> "Rotated":
        """Return the condition."""
        return self

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's."""
        return dataset.origin

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the turned images; raises ValueError for a data set that has none."""
        inputs, scaling = dataset.test.inputs, dataset.scaling
        if inputs.ndim != 4:
            raise ValueError(f"{self.name} needs images, not rows of {inputs.shape[1]} features")
        turned = torch.empty_like(inputs)
        for start in range(0, len(inputs), CHUNK):
            images = scaling.invert(inputs[start : start + CHUNK].double())
            turned[start : start + CHUNK] = scaling.apply(rotate(images, self.degrees))
        return Split(turned, dataset.test.targets)


def rotate(
    images: Float[Tensor, "points channels height width"], degrees: int | float
) -> Float[Tensor, "points channels height width"]:
    """Return images turned counter-clockwise about their centre, 0 where nothing was."""
    height, width = images.shape[2:]
    down = torch.arange(height, dtype=images.dtype)[:, None] - (height - 1) / 2
    right = torch.arange(width, dtype=images.dtype) - (width - 1) / 2
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    column = (right * cos - down * sin) * 2 / width
    row = (right * sin + down * cos) * 2 / height
    grid = torch.stack([column, row], dim=-1).expand(len(images), -1, -1, -1)
    return torch.nn.functional.grid_sample(images, grid, "bilinear", "zeros", align_corners=False)


@dataclass(frozen=True)
class Acquired:
    """A condition after `count` acquisitions of active learning, under a name that counts them.

    The data set it selects from is the one that has grown by then.
    """

    condition: Condition
    count: int

    @property
    def name(self) -> str:
        """The count after "acquired_", and the condition where it is not clean."""
        other = self.condition.name
        return f"acquired_{self.count}" + (f"_{other}" if other != Clean.name else "")

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the condition's."""
        return self.condition.sources()

    def with_sources(self, resolve: Resolve) -> "Acquired":
        """Return the condition on resolved sources."""
        return Acquired(self.condition.with_sources(resolve), self.count)

    def origin(self, dataset: Dataset) -> Origin:
        """Return the condition's."""
        return self.condition.origin(dataset)

    def select(self, dataset: Dataset) -> Split:
        """Return the condition's split."""
        return self.condition.select(dataset)


def acquisitions(name: str) -> tuple[int, str] | None:
    """Return count and condition of an `Acquired` of that name, None for another condition."""
    found = re.fullmatch(r"acquired_(\d+)(?:_(.+))?", name)
    return (int(found[1]), found[2] or Clean.name) if found else None
