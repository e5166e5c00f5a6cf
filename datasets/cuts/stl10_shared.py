"""STL-10 for networks trained on CIFAR-10: the nine shared classes, at 32x32.

The monkeys of Coates, Lee and Ng are not a class of CIFAR-10, and CIFAR-10's frogs are not a class
of STL-10.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import UInt8
from torch.nn import functional

from bnnbench.datasets.base import DataSource, ImageSource
from bnnbench.datasets.cuts.derived import Derived
from bnnbench.datasets.official.stl10 import Stl10
from bnnbench.datasets.origins import Part
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.images import CHUNK, Labelled
from bnnbench.datasets.stand_ins import DigitsAsCifar10

CIFAR_10 = (0, 2, 1, 3, 4, 5, 7, -1, 8, 9)
"""CIFAR-10's number for each class of STL-10; -1 for monkeys, which CIFAR-10 lacks."""
MONKEY, FROG = 7, 6
SIDE = 32


@dataclass(frozen=True)
class Stl10Shared(Derived):
    """Images of the shared classes with CIFAR-10's labels, 7,200 of them for testing.

    `monkeys` includes monkeys, labelled as the frogs that they replace: the public code of SWAG,
    and therefore of seed paper 002, counts them, although no network can classify them correctly.
    """

    source: DataSource = Stl10()
    monkeys: bool = False

    @property
    def name(self) -> str:
        """The source's name, with the added class if there is one."""
        return f"{self.source.name}_with_monkeys" if self.monkeys else self.source.name

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return a part's 32x32 images in the official order, with CIFAR-10's labels."""
        raw, classes = self._image_source.images(part)
        shared = np.ones(len(classes), bool) if self.monkeys else classes != MONKEY
        labels = np.where(classes == MONKEY, FROG, np.array(CIFAR_10)[classes])
        return shrunk(raw[shared], SIDE), labels[shared]

    def fallbacks(  # pyright: ignore[reportIncompatibleMethodOverride] (digits are not derived)
        self, part: Part | None = None
    ) -> tuple[ImageSource, ...]:
        """Return digits unchanged, for networks trained on digits."""
        return (DigitsAsCifar10(),)


def shrunk(
    images: UInt8[np.ndarray, "points height width channels"], side: int
) -> UInt8[np.ndarray, "points side side channels"]:
    """Return images resized to `side` pixels by bilinear interpolation with antialiasing.

    Every value is a mean weighted by a triangle twice as wide as a new pixel, rounded to 8 bits.
    """
    points, _, _, channels = images.shape
    small = np.empty((points, side, side, channels), np.uint8)
    for start in range(0, points, CHUNK):
        planes = torch.from_numpy(np.ascontiguousarray(images[start : start + CHUNK]))
        resized = functional.interpolate(
            planes.permute(0, 3, 1, 2).double(), (side, side), mode="bilinear", antialias=True
        )
        small[start : start + CHUNK] = resized.round().clamp(0, 255).byte().permute(0, 2, 3, 1)
    return small
