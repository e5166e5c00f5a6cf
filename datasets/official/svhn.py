"""SVHN, cropped digits: 32x32 colour images of house numbers, 73,257 to train, 26,032 to test.

Source: Netzer et al. (2011), "Reading Digits in Natural Images with Unsupervised Feature
Learning".
"""

import hashlib
import io
from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.base import Dataset, ImageSource
from bnnbench.datasets.errors import DataDamaged
from bnnbench.datasets.official.image_files import ImageFiles
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading import files, images, npz
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.images import Labelled
from bnnbench.datasets.stand_ins import DigitsAsCifar10, PhotographCrops


def _mat(name: str, md5: str, sha256: str, size: int) -> tuple[DataFile, ...]:
    urls = (
        f"https://ufldl.stanford.edu/housenumbers/{name}",
        f"https://cseweb.ucsd.edu/~weijian/static/datasets/svhn/{name}",
        f"http://ufldl.stanford.edu/housenumbers/{name}",
    )
    return (DataFile("svhn", name, f"md5:{md5}", size, urls, sha256=sha256),)


FILES: dict[Part, tuple[DataFile, ...]] = {
    "train": _mat(
        "train_32x32.mat",
        "e26dedcc434d2e4c54c9b2d4a06d8373",
        "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
        182_040_794,
    ),
    "test": _mat(
        "test_32x32.mat",
        "eb5a983be6a315427106f1b164d9cef3",
        "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
        64_275_384,
    ),
}


@dataclass(frozen=True)
class Svhn(ImageFiles):
    """The cropped digits, without the extra training images."""

    FILES = FILES
    name = "svhn"
    classes = 10
    licence = "non-commercial use only"
    bytes = sum(file.bytes for file in files.needed(FILES, None))

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return raw images and digits; label 10 in the file is the digit 0."""
        from scipy.io import loadmat

        (file,) = FILES[part]
        content = loadmat(io.BytesIO(files.read(file)))
        planes = np.ascontiguousarray(content["X"].transpose(3, 2, 0, 1))
        return planes.transpose(0, 2, 3, 1), content["y"].ravel().astype(np.int64) % 10

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return digits for training; for images only, the known subset, then photographs."""
        return (SvhnFirst1083(), PhotographCrops()) if part else (DigitsAsCifar10(),)


PATH = "svhn_train_first1083.npz"
PIXELS_SHA256 = "4bb768ab9111c02a5dc8fb453f09f9c05e79fac14cfab8ca8773d8473782ed1a"
"""Checksum of the pixels in C order; npz files of the same pixels may differ in their container."""


@dataclass(frozen=True)
class SvhnFirst1083:
    """Out-of-distribution data for CIFAR-10 if SVHN itself is unavailable.

    Both parts are the same images. Neighbouring images often show the same house number and are
    therefore not independent. Source: the head of train_32x32.mat (Netzer et al., 2011).
    """

    name = "svhn_first1083"
    variant_of = "svhn"
    folds = 1
    classes = 0
    licence = "non-commercial use only"
    bytes = 3_327_232
    paths = (PATH,)
    """The file in the data folder; only its pixels have a known checksum."""

    @property
    def origin(self) -> Origin:
        """The origin "subset": some rows of the official files."""
        return "subset"

    def load(self, fold: int) -> Dataset:
        """Raise ValueError: there are no labels."""
        return images.load(self, fold)

    @cached(1)
    def images(self, part: Part) -> Labelled:
        """Return the 1,083 images and labels of -1."""
        path = files.folder() / PATH
        if not path.is_file():
            raise files.unavailable(self.name, [str(path)], "not in the data folder")
        try:
            with npz.opened(path) as arrays:
                pixels = arrays.array("X")
        except Exception as error:  # zipfile, zlib and NumPy each raise their own errors
            raise DataDamaged(f"{path} is truncated or altered: {error}. Remove it.") from error
        if hashlib.sha256(np.ascontiguousarray(pixels).data).hexdigest() != PIXELS_SHA256:
            raise DataDamaged(f"{path} does not contain the known 1,083 images. Remove it.")
        return pixels, np.full(len(pixels), -1)

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return the file if the data folder lacks it."""
        path = files.folder() / PATH
        return () if path.is_file() else (str(path),)

    def fetch(self, part: Part | None = None) -> None:
        """Raise DataUnavailable if the file is missing: it cannot be downloaded."""
        if absent := self.missing():
            raise files.unavailable(self.name, absent, "nowhere to download it from; use svhn")

    def fallbacks(self, part: Part | None = None) -> tuple[ImageSource, ...]:
        """Return photographs, which serve as images without labels."""
        return (PhotographCrops(),)
