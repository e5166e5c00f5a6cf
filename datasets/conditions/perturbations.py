"""Random perturbations of test inputs by a given size: noise to compare with attacks."""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, Scaling, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Family, Traits

Scale = Literal["standardised", "pixel"]
"""The unit of a size: one unit of the network's inputs, or the range of intensities."""

SCALES: tuple[Scale, ...] = ("standardised", "pixel")


@dataclass(frozen=True)
class Perturbation(WithoutSources, ABC):
    """The test split with perturbed inputs: within `size` of the originals, or spread by it.

    `clamp` limits intensities to [0, 1]; it is meant for images only.
    """

    size: float
    scale: Scale = "standardised"
    clamp: bool = False

    kind: ClassVar[str]
    """The first word of the name."""
    title: ClassVar[str]
    """Title of the perturbation."""
    size_name: ClassVar[str]
    """The meaning of a size."""

    def __post_init__(self) -> None:
        if not 0 <= self.size < float("inf"):
            raise ValueError(f"a size must be finite and at least 0; got {self.size!r}")
        if self.scale not in SCALES:
            raise ValueError(f"a scale must be one of {', '.join(SCALES)}; got {self.scale!r}")

    @property
    def settings(self) -> tuple[str, ...]:
        """Return texts for the settings other than the size that differ from their defaults."""
        texts = [_text(self, field) for field in dataclasses.fields(self) if field.name != "size"]
        return tuple(filter(None, texts))

    @property
    def family(self) -> str:
        """Return kind and settings; conditions of one family differ only in size."""
        return "_".join([self.kind, *self.settings])

    @property
    def name(self) -> str:
        """Return family and size, which determine the condition."""
        return condition_names.perturbed(self.family, self.size)

    @property
    def traits(self) -> Traits:
        """Return the title and the family, whose conditions differ only in size."""
        settings = " ".join(self.settings).replace("_", " ")
        treatment = f"{self.title}: {settings}" if settings else self.title
        title = f"{treatment}, {self.size_name} {self.size:g}"
        return Traits(title, family=Family(treatment, self.size_name), size=self.size)

    @abstractmethod
    def select(self, dataset: Dataset) -> Split:
        """Return the split to be scored."""

    def radius(self, inputs: Tensor, scaling: Scaling) -> Tensor:
        """Return the size in units of the network's inputs, to broadcast against a row."""
        size = torch.tensor(self.size, dtype=inputs.dtype, device=inputs.device)
        return size / scaling.std.to(inputs) if self.scale == "pixel" else size

    def clamped(self, inputs: Tensor, scaling: Scaling) -> Tensor:
        """Return the inputs, limited to intensities in [0, 1] if `clamp` is set."""
        if not self.clamp:
            return inputs
        black, white = (scaling.apply(inputs.new_full((1,), level)) for level in (0, 1))
        return inputs.clamp(black, white)


@dataclass(frozen=True)
class RandomPerturbation(Perturbation):
    """Independent changes of every input, drawn from a distribution with mean 0.

    The draws depend only on `seed` and the number of inputs: they are equal for all methods, and
    for different sizes equal up to the factor.
    """

    seed: int = 0

    def select(self, dataset: Dataset) -> Split:
        """Return the perturbed test split."""
        inputs = dataset.test.inputs
        draws = self.draw(torch.empty_like(inputs), torch.Generator().manual_seed(self.seed))
        moved = inputs + self.radius(inputs, dataset.scaling) * draws
        return Split(self.clamped(moved, dataset.scaling), dataset.test.targets)

    @abstractmethod
    def draw(self, numbers: Tensor, rng: torch.Generator) -> Tensor:
        """Fill a tensor with draws of standard deviation 1."""


@dataclass(frozen=True)
class GaussianNoise(RandomPerturbation):
    """The test inputs with independent Gaussian noise of standard deviation `size`."""

    kind: ClassVar[str] = "noise"
    title: ClassVar[str] = "Gaussian noise"
    size_name: ClassVar[str] = "standard deviation"

    def draw(self, numbers: Tensor, rng: torch.Generator) -> Tensor:
        """Fill a tensor with standard normals."""
        return numbers.normal_(generator=rng)


@dataclass(frozen=True)
class SignNoise(RandomPerturbation):
    """The test inputs, each moved by `size` up or down at random: an attack without a gradient."""

    kind: ClassVar[str] = "sign_noise"
    title: ClassVar[str] = "Random signs"
    size_name: ClassVar[str] = "size"

    def draw(self, numbers: Tensor, rng: torch.Generator) -> Tensor:
        """Fill a tensor with -1 and 1."""
        return numbers.bernoulli_(0.5, generator=rng).mul_(2).sub_(1)


def _text(perturbation: Perturbation, field: dataclasses.Field) -> str:
    """Return a setting as a part of a name; "" for the default."""
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
