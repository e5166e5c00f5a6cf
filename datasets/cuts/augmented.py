"""Images whose training part is changed at random each time a network sees it."""

from dataclasses import dataclass

from bnnbench.datasets.base import Scaling
from bnnbench.datasets.cuts.augmentation import CropsAndMirrors
from bnnbench.datasets.cuts.derived import Derived, require_images


@dataclass(frozen=True)
class Augmented(Derived):
    """All images of `source`; training images are cropped out of black borders, and mirrored.

    Test images stay as they are.
    """

    padding: int = 4

    def __post_init__(self) -> None:
        require_images(self.source)

    def augmentation(self, scaling: Scaling) -> CropsAndMirrors:
        """Return the augmentation with a border that is black under `scaling`."""
        black = scaling.apply(scaling.mean.new_zeros(()))
        return CropsAndMirrors(self.padding, tuple(black.flatten().tolist()))
