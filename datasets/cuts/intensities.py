"""Images with intensities in [0, 1] or [-1, 1], without standardisation."""

from dataclasses import dataclass

import torch

from bnnbench.datasets.base import Scaling
from bnnbench.datasets.cuts.derived import Derived, require_images


@dataclass(frozen=True)
class Intensities(Derived):
    """All images of `source`, black as 0 and white as 1.

    Noise that a network adds to its inputs is then in units of the whole range.
    """

    def __post_init__(self) -> None:
        require_images(self.source)

    @property
    def fixed_scaling(self) -> Scaling:
        """Mean 0 and standard deviation 1 on the scale of [0, 1]."""
        one = torch.ones((1, 1, 1), dtype=torch.float64)
        return Scaling(torch.zeros_like(one), one)


@dataclass(frozen=True)
class Signed(Derived):
    """All images of `source`, black as -1 and white as 1.

    A network's confidence far from its data depends on the scale of its inputs.
    """

    def __post_init__(self) -> None:
        require_images(self.source)

    @property
    def fixed_scaling(self) -> Scaling:
        """Mean and standard deviation of one half on the scale of [0, 1]."""
        half = torch.full((1, 1, 1), 0.5, dtype=torch.float64)
        return Scaling(half, half)
