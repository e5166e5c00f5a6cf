"""The test images under one of the nineteen corruptions of CIFAR-10-C."""

import contextlib
from dataclasses import dataclass

import numpy as np
import torch

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Family, Traits
from bnnbench.datasets.corruptions import CORRUPTIONS, TEST, check
from bnnbench.datasets.corruptions.constants import SEVERITIES
from bnnbench.datasets.corruptions.files import blocks
from bnnbench.datasets.corruptions.files.textures import allow_photographs, textures
from bnnbench.datasets.corruptions.levels import SIDE, Images
from bnnbench.datasets.origins import ORIGINS, Origin
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.images import CHUNK, as_inputs


@dataclass(frozen=True)
class Corrupted(WithoutSources):
    """The 32x32 colour test images of a data set under a corruption.

    For CIFAR-10 and CIFAR-100 they are the official images if the data folder has them.
    No split is cached in memory, since all are too large; from the second run on they are read from
    disk.
    """

    corruption: str
    severity: int

    def __post_init__(self) -> None:
        check(self.corruption, self.severity)

    @property
    def name(self) -> str:
        """The corruption and its severity, after "corrupted_"."""
        return condition_names.corrupted(self.corruption, self.severity)

    @property
    def traits(self) -> Traits:
        """Return the title and the corruption's family; sizes are severities."""
        short = self.corruption.replace("_", " ")
        family = Family(f"Corruption: {short}", "severity", short)
        title = f"{family.title}, severity {self.severity}"
        return Traits(title, family=family, size=float(self.severity))

    @cached_per_dataset
    def origin(self, dataset: Dataset) -> Origin:
        """Return "original" for the official bytes, "generated" for images drawn from the same
        distribution, or the data set's origin if it is less official.

        Raises DataUnavailable if the textures for frost on real data are missing.
        """
        if self.corruption == "frost" and dataset.origin != "stand-in":
            textures()  # requested before any fit
        least = ORIGINS.index("generated")
        if ORIGINS.index(dataset.origin) >= least:
            return dataset.origin
        if not blocks.can_be_original(self.corruption):
            return "generated"
        return blocks.provided(raw_images(dataset), self.corruption, self.severity)[1]

    def select(self, dataset: Dataset) -> Split:
        """Return the corrupted images; raises ValueError unless they are 32x32 in colour."""
        stand_in = dataset.origin == "stand-in"
        with allow_photographs() if stand_in else contextlib.nullcontext():
            images, _ = blocks.provided(raw_images(dataset), self.corruption, self.severity)
        return Split(as_inputs(images, dataset.scaling), dataset.test.targets)


def raw_images(dataset: Dataset) -> Images:
    """Return the test images in 8 bits; raises ValueError unless they are 32x32 colour images."""
    inputs = dataset.test.inputs
    if tuple(inputs.shape[1:]) != (3, SIDE, SIDE):
        raise ValueError(
            f"corruptions need {SIDE}x{SIDE} colour images of shape (3, {SIDE}, {SIDE}); got shape "
            f"{tuple(inputs.shape[1:])}"
        )
    images = np.empty((len(inputs), SIDE, SIDE, 3), np.uint8)
    for start in range(0, len(inputs), CHUNK):
        chunk = slice(start, start + CHUNK)
        levels = dataset.scaling.invert(inputs[chunk].double()) * 255
        rounded = levels.round()
        if (levels - rounded).abs().max() > 0.01 or rounded.min() < 0 or rounded.max() > 255:
            raise ValueError("corruptions need test images with 8-bit levels; these have others")
        images[chunk] = rounded.to(torch.uint8).numpy().transpose(0, 2, 3, 1)
    return images


ALL_19 = tuple(Corrupted(name, severity) for name in CORRUPTIONS for severity in SEVERITIES)
"""Every corruption at every severity."""

TEST_15 = tuple(Corrupted(name, severity) for name in TEST for severity in SEVERITIES)
"""Corruptions whose mean most papers report; the other four are for choosing settings."""
