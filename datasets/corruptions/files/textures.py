"""Photographs of ice for the frost corruption: downloaded, never shipped."""

import functools
import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile, FileSet

REDUCTION = 5
MIDDLE = 2
"""Index of the middle of five rows or columns: the original's bilinear resizing reads it."""

_FROM = "https://raw.githubusercontent.com/hendrycks/robustness/master/ImageNet-C/create_c/"


def _file(name: str, md5: str, sha256: str, size: int) -> DataFile:
    urls = (_FROM + name,)
    return DataFile("frost", f"frost/{name}", f"md5:{md5}", size, urls, sha256=sha256)


FILES = (
    _file(
        "frost1.png",
        "6ead634ace1f366d77e87078b465863c",
        "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
        1_199_930,
    ),
    _file(
        "frost2.png",
        "98f0d2b1d74a048d3bc9c7ecfd886939",
        "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
        299_002,
    ),
    _file(
        "frost3.png",
        "b3ed8eb147824261888e730f916c0d8b",
        "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
        299_002,
    ),
    _file(
        "frost4.jpg",
        "d70b9d6aa0b1fe7bd8133b113787e078",
        "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
        36_734,
    ),
    _file(
        "frost5.jpg",
        "50984ae2c871b7df2c28f1d71ca460a0",
        "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
        155_150,
    ),
)
"""All files used by frost; the original never uses the archive's sixth."""


FILE_SET = FileSet("frost", FILES, "Apache-2.0 (hendrycks/robustness)")


_photographs_allowed: ContextVar[bool] = ContextVar("photographs_allowed", default=False)


@contextmanager
def allow_photographs() -> Iterator[None]:
    """Let photographs inside scikit-learn replace missing textures within the block."""
    token = _photographs_allowed.set(True)
    try:
        yield
    finally:
        _photographs_allowed.reset(token)


def textures() -> tuple[UInt8[np.ndarray, "_ _ 3"], ...]:
    """Return the textures at a fifth of their size, downloading missing ones.

    Raises DataUnavailable, with the remedy, if they cannot be downloaded.
    """
    if FILE_SET.missing() and _photographs_allowed.get():
        return _photographs()
    return _reduced(FILE_SET)


@cached(1)
def _reduced(file_set: FileSet) -> tuple[np.ndarray, ...]:
    if file_set.missing():
        file_set.fetch()
    pictures = [Image.open(io.BytesIO(files.read(file))).convert("RGBA") for file in file_set.files]
    return tuple(_fifth(np.asarray(picture)[..., :3]) for picture in pictures)


@functools.cache
def _photographs() -> tuple[np.ndarray, ...]:
    from sklearn.datasets import load_sample_images

    return tuple(_fifth(picture) for picture in load_sample_images().images)


def _fifth(picture: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(picture[MIDDLE::REDUCTION, MIDDLE::REDUCTION])
