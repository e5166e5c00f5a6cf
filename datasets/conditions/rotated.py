"""Rotated test images."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Family, Traits
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.images import CHUNK


@dataclass(frozen=True)
class Rotated(WithoutSources):
    """The test images rotated counter-clockwise about their centre, on a black ground.

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
        return condition_names.rotated(self.degrees)

    @property
    def traits(self) -> Traits:
        """Return the title, and the degrees as the size."""
        title = f"Rotation, degrees {self.degrees:g}"
        return Traits(title, family=Family("Rotation", "degrees"), size=float(self.degrees))

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
