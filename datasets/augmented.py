"""Images whose training part is changed at random each time a network sees it."""

from dataclasses import dataclass

from datasets.augmentation import CropsAndMirrors
from datasets.base import Origin, Part, Scaling, Table
from datasets.derived import Derived
from datasets.images import Labelled


@dataclass(frozen=True)
class Augmented(Derived):
    """All images of `source`; those to learn from in crops out of black borders, and mirrored.

    Test images stay as they are.
    """

    padding: int = 4

    def __post_init__(self) -> None:
        if not hasattr(self.source, "images"):
            raise ValueError(f"needed a source of images; got {self.source.name}")

    @property
    def origin(self) -> Origin:
        """The source's."""
        return self.source.origin

    def augmentation(self, scaling: Scaling) -> CropsAndMirrors:
        """Return crops out of a border that is black under `scaling`."""
        black = scaling.apply(scaling.mean.new_zeros(()))
        return CropsAndMirrors(self.padding, tuple(black.flatten().tolist()))

    def images(self, part: Part) -> Labelled:
        """Return the source's raw images and labels."""
        return self._image_source.images(part)

    def table(self, fold: int) -> Table:
        """Raise TypeError: there are images."""
        raise TypeError(f"{self.source.name} is made of images")
