"""Images whose intensities a network sees between -1 and 1, whatever their mean and deviation."""

from dataclasses import dataclass

import torch

from datasets.base import Origin, Part, Scaling, Table
from datasets.derived import Derived
from datasets.images import Labelled


@dataclass(frozen=True)
class Signed(Derived):
    """All images of `source`, black as -1 and white as 1.

    How sure a network is far from its data depends on the scale of its inputs.
    """

    def __post_init__(self) -> None:
        if not hasattr(self.source, "images"):
            raise ValueError(f"needed a source of images; got {self.source.name}")

    @property
    def origin(self) -> Origin:
        """The source's."""
        return self.source.origin

    @property
    def fixed_scaling(self) -> Scaling:
        """Mean and deviation of one half on the scale of [0, 1]."""
        half = torch.full((1, 1, 1), 0.5, dtype=torch.float64)
        return Scaling(half, half)

    def images(self, part: Part) -> Labelled:
        """Return the source's raw images and labels."""
        return self._image_source.images(part)

    def table(self, fold: int) -> Table:
        """Raise TypeError: there are images."""
        raise TypeError(f"{self.source.name} is made of images")
