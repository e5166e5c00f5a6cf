"""Test inputs moved by a size, at random: noise to set beside attacks."""

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, ImageSource, Origin, Scaling, Split
from bnnbench.datasets.conditions.base import Resolve, acquisitions

Self = TypeVar("Self")
Scale = Literal["standardised", "pixel"]
"""What a size of 1 is: one unit of what a network sees, or the range of an image's intensities."""

SCALES: tuple[Scale, ...] = ("standardised", "pixel")


@dataclass(frozen=True)
class Perturbation(ABC):
    """The test split with other inputs, within `size` of the original ones or spread by it.

    `clamp` keeps intensities between 0 and 1, as only images have them.
    """

    size: float
    scale: Scale = "standardised"
    clamp: bool = False

    kind: ClassVar[str]
    """The first word of the name."""

    def __post_init__(self) -> None:
        if not 0 <= self.size < float("inf"):
            raise ValueError(f"a size is finite and at least 0, not {self.size!r}")
        if self.scale not in SCALES:
            raise ValueError(f"a scale is one of {', '.join(SCALES)}, not {self.scale!r}")

    @property
    def family(self) -> str:
        """The kind and the settings that are not the defaults; conditions differ in size else."""
        texts = [_text(self, field) for field in dataclasses.fields(self) if field.name != "size"]
        return "_".join([self.kind, *filter(None, texts)])

    @property
    def name(self) -> str:
        """The family and the size, which determine the condition."""
        return f"{self.family}_{self.size:g}"

    def sources(self) -> tuple[ImageSource, ...]:
        """Return nothing."""
        return ()

    def with_sources(self: Self, resolve: Resolve) -> Self:
        """Return the condition."""
        return self

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's."""
        return dataset.origin

    @abstractmethod
    def select(self, dataset: Dataset) -> Split:
        """Return the split to be scored."""

    def radius(self, inputs: Tensor, scaling: Scaling) -> Tensor:
        """Return the size as the inputs of a network have it, to broadcast against a row."""
        size = torch.tensor(self.size, dtype=inputs.dtype, device=inputs.device)
        return size / scaling.std.to(inputs) if self.scale == "pixel" else size

    def clamped(self, inputs: Tensor, scaling: Scaling) -> Tensor:
        """Return the inputs, of intensities between 0 and 1 if these are to be kept."""
        if not self.clamp:
            return inputs
        black, white = (scaling.apply(inputs.new_full((1,), level)) for level in (0, 1))
        return inputs.clamp(black, white)


@dataclass(frozen=True)
class RandomPerturbation(Perturbation):
    """Independent changes of every input, drawn from a law of mean 0.

    They follow from `seed` and the number of inputs: equal for all methods, and of other sizes
    the same up to the factor.
    """

    seed: int = 0

    def select(self, dataset: Dataset) -> Split:
        """Return the perturbed test split."""
        inputs = dataset.test.inputs
        draws = self.draw(torch.empty_like(inputs), torch.Generator().manual_seed(self.seed))
        moved = inputs + self.radius(inputs, dataset.scaling) * draws
        return Split(self.clamped(moved, dataset.scaling), dataset.test.targets)

    @abstractmethod
    def draw(self, like: Tensor, rng: torch.Generator) -> Tensor:
        """Fill a tensor with draws of standard deviation 1."""


@dataclass(frozen=True)
class GaussianNoise(RandomPerturbation):
    """The test inputs with independent Gaussian noise of standard deviation `size`."""

    kind: ClassVar[str] = "noise"

    def draw(self, like: Tensor, rng: torch.Generator) -> Tensor:
        """Fill a tensor with standard normals."""
        return like.normal_(generator=rng)


@dataclass(frozen=True)
class SignNoise(RandomPerturbation):
    """The test inputs with each moved by `size`, up or down at random: what an attack without
    a gradient would do."""

    kind: ClassVar[str] = "sign_noise"

    def draw(self, like: Tensor, rng: torch.Generator) -> Tensor:
        """Fill a tensor with -1 and 1."""
        return like.bernoulli_(0.5, generator=rng).mul_(2).sub_(1)


def sized(name: str) -> tuple[str, float] | None:
    """Return family and size of a condition whose name ends in a number, None for another.

    "rotated_30" is of the family "rotated"; clean data have size 0 in every family.
    """
    if acquisitions(name):
        return None
    found = re.fullmatch(r"(.*[^\W_])_(\d+(?:\.\d+)?(?:e[+-]\d+)?)", name)
    return (found[1], float(found[2])) if found else None


def families(names: Collection[str]) -> dict[str, dict[str, float]]:
    """Return family → condition → size, ordered by size, of families of two sizes or more."""
    found: dict[str, dict[str, float]] = {}
    for name in names:
        if parsed := sized(name):
            found.setdefault(parsed[0], {})[name] = parsed[1]
    return {
        family: dict(sorted(found[family].items(), key=lambda item: item[1]))
        for family in sorted(found)
        if len(found[family]) > 1
    }


def _text(perturbation: Perturbation, field: dataclasses.Field) -> str:
    """Return a setting as a part of a name, "" for the default."""
    value = getattr(perturbation, field.name)
    if value == field.default:
        return ""
    if isinstance(value, str):
        return value
    if dataclasses.is_dataclass(value):
        return f"from_{getattr(value, 'name', type(value).__name__)}"
    if isinstance(value, bool):
        return field.name if value else f"no_{field.name}"
    return f"{field.name}{value:g}"
