"""Images whose training part is changed at random each time a network trains on it."""

from dataclasses import dataclass

from bnnbench.datasets.base import Scaling
from bnnbench.datasets.cuts.augmentation import CropsAndMirrors
from bnnbench.datasets.cuts.derived import Derived, require_images


@dataclass(frozen=True)
class Augmented(Derived):
    """All images of `source`; training images are padded with black and randomly cropped, mirrored.

    Test images are unchanged.
    """

    padding: int = 4

    def __post_init__(self) -> None:
        require_images(self.source)

    def augmentation(self, scaling: Scaling) -> CropsAndMirrors:
        """Return the augmentation; its border is black under `scaling`."""
        black = scaling.apply(scaling.mean.new_zeros(()))
        return CropsAndMirrors(self.padding, tuple(black.flatten().tolist()))
