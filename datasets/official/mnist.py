"""MNIST: 28x28 grey images of handwritten digits, 60,000 to train, 10,000 to test.

Source: LeCun, Cortes and Burges, "The MNIST database of handwritten digits".
"""

import gzip
from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.base import ImageSource
from bnnbench.datasets.official.image_files import ImageFiles
from bnnbench.datasets.origins import Part
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled
from bnnbench.datasets.stand_ins import DigitsAsMnist, PhotographCrops


def _file(name: str, md5: str, sha256: str, size: int) -> DataFile:
    urls = (
        f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}",
        f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}",
    )
    return DataFile("mnist", f"MNIST/raw/{name}", f"md5:{md5}", size, urls, sha256=sha256)


FILES: dict[Part, tuple[DataFile, ...]] = {
    "train": (
        _file(
            "train-images-idx3-ubyte.gz",
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            9_912_422,
        ),
        _file(
            "train-labels-idx1-ubyte.gz",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            28_881,
        ),
    ),
    "test": (
        _file(
            "t10k-images-idx3-ubyte.gz",
            "9fb629c4189551a2d022fa330f9573f3",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            1_648_877,
        ),
        _file(
            "t10k-labels-idx1-ubyte.gz",
            "ec29112dd5afa0611ce80d1b7f02629c",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            4_542,
        ),
    ),
}


@dataclass(frozen=True)
class Mnist(ImageFiles):
    """MNIST in its four original files."""

    FILES = FILES
    name = "mnist"
    classes = 10
    licence = "commonly given as CC BY-SA 3.0"
    bytes = sum(file.bytes for file in files.needed(FILES, None))

    @cached(4)
    def images(self, part: Part) -> Labelled:
        """Return raw images and digits in the official order."""
        return _read_idx(*self.FILES[part])

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return digits for training, photographs if only images are needed."""
        return (PhotographCrops(size=28, grey=True),) if part else (DigitsAsMnist(),)


def _read_idx(image_file: DataFile, label_file: DataFile) -> Labelled:
    """Return the images and labels of two gzipped IDX files (big-endian sizes, then bytes)."""
    pixels, labels = (
        gzip.decompress(files.read(image_file)),
        gzip.decompress(files.read(label_file)),
    )
    magic, count, height, width = np.frombuffer(pixels, ">u4", 4).tolist()
    if magic != 0x803 or np.frombuffer(labels, ">u4", 2).tolist() != [0x801, count]:
        raise files.damaged(image_file, "it and its labels are not IDX files of equal length")
    shape = (count, height, width, 1)
    return (
        np.frombuffer(pixels, np.uint8, offset=16).reshape(shape),
        np.frombuffer(labels, np.uint8, offset=8).astype(np.int64),
    )
