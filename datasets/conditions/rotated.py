"""Rotated test images."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Family, Traits
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.images import CHUNK

Interpolation = Literal["bilinear", "nearest"]


@dataclass(frozen=True)
class Rotated(WithoutSources):
    """The test images rotated counter-clockwise about their centre, on a black background.

    Interpolation is bilinear between pixel centres, without rounding to 8 bits; values outside the
    image are black. Output pixel (u, v), counted from the centre to the right and down, reads
    (u cos t - v sin t, u sin t + v cos t).
    """

    degrees: int | float

    interpolation: ClassVar[Interpolation] = "bilinear"
    family: ClassVar[str] = "Rotation"

    @property
    def name(self) -> str:
        """The degrees, after "rotated_"."""
        return condition_names.rotated(self.degrees)

    @property
    def traits(self) -> Traits:
        """Return the title, with the degrees as the size."""
        title = f"{self.family}, degrees {self.degrees:g}"
        return Traits(title, family=Family(self.family, "degrees"), size=float(self.degrees))

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the rotated images; raises ValueError for a data set without images."""
        inputs, scaling = dataset.test.inputs, dataset.scaling
        if inputs.ndim != 4:
            raise ValueError(f"{self.name} needs images; got rows of {inputs.shape[1]} features")
        turned = torch.empty_like(inputs)
        for start in range(0, len(inputs), CHUNK):
            images = scaling.invert(inputs[start : start + CHUNK].double())
            images = rotate(images, self.degrees, self.interpolation)
            turned[start : start + CHUNK] = scaling.apply(images)
        return Split(turned, dataset.test.targets)


@dataclass(frozen=True)
class RotatedToNearest(Rotated):
    """The rotated images with nearest-pixel interpolation, torchvision's default.

    Printed numbers of paper 003, which does not state its interpolation, are compared with these.
    """

    interpolation: ClassVar[Interpolation] = "nearest"
    family: ClassVar[str] = "Rotation to the nearest pixel"

    @property
    def name(self) -> str:
        """The degrees, between "rotated_" and "_nearest"."""
        return condition_names.rotated_to_nearest(self.degrees)


def rotate(
    images: Float[Tensor, "points channels height width"],
    degrees: int | float,
    interpolation: Interpolation = "bilinear",
) -> Float[Tensor, "points channels height width"]:
    """Return images rotated counter-clockwise about their centre; values from outside are 0."""
    height, width = images.shape[2:]
    down = torch.arange(height, dtype=images.dtype)[:, None] - (height - 1) / 2
    right = torch.arange(width, dtype=images.dtype) - (width - 1) / 2
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    column = (right * cos - down * sin) * 2 / width
    row = (right * sin + down * cos) * 2 / height
    grid = torch.stack([column, row], dim=-1).expand(len(images), -1, -1, -1)
    return functional.grid_sample(images, grid, interpolation, "zeros", align_corners=False)
