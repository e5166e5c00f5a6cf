"""STL-10: 96x96 colour images of ten classes, 5,000 labelled for training and 8,000 for testing.

Source: Coates, Lee and Ng (2011), "An Analysis of Single-Layer Networks in Unsupervised
Feature Learning".
"""

from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.base import ImageSource
from bnnbench.datasets.official.image_files import ImageFiles
from bnnbench.datasets.origins import Part
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled
from bnnbench.datasets.stand_ins import DigitsAsCifar10, PhotographCrops

ARCHIVE = DataFile(
    "stl10",
    "stl10_binary.tar.gz",
    "md5:91f7769df0f17e558f3565bffb0c7dfb",
    2_640_397_119,
    urls=(
        "https://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
        "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
    ),
    sha256="f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
)


def _file(name: str, md5: str) -> DataFile:
    return DataFile("stl10", f"stl10_binary/{name}", f"md5:{md5}", archive=ARCHIVE)


FILES: dict[Part, tuple[DataFile, ...]] = {
    "train": (
        _file("train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"),
        _file("train_y.bin", "5a34089d4802c674881badbb80307741"),
    ),
    "test": (
        _file("test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"),
        _file("test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"),
    ),
}


@dataclass(frozen=True)
class Stl10(ImageFiles):
    """The labelled images; the 100,000 unlabelled ones stay in the archive.

    Classes from 0: airplane, bird, car, cat, deer, dog, horse, monkey, ship, truck.
    """

    FILES = FILES
    name = "stl10"
    classes = 10
    licence = "none stated; images from ImageNet"
    bytes = ARCHIVE.bytes

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return raw images, stored column by column in the file, and labels from 0."""
        pixels, labels = (np.frombuffer(files.read(file), np.uint8) for file in FILES[part])
        planes = np.ascontiguousarray(pixels.reshape(-1, 3, 96, 96).swapaxes(2, 3))
        return planes.transpose(0, 2, 3, 1), labels.astype(np.int64) - 1

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return 32x32 digits for training, photographs if only images are needed."""
        return (PhotographCrops(size=96),) if part else (DigitsAsCifar10(),)
