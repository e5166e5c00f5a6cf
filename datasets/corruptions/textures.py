"""Photographs of ice that frost is made of. They are fetched and never shipped."""

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
"""Of five rows and columns this one is kept: the original's bilinear resizing falls on it."""

_FROM = "https://raw.githubusercontent.com/hendrycks/robustness/master/ImageNet-C/create_c/"


def _file(name: str, md5: str, size: int) -> DataFile:
    return DataFile("frost", f"frost/{name}", f"md5:{md5}", size, (_FROM + name,))


FILES = (
    _file("frost1.png", "6ead634ace1f366d77e87078b465863c", 1_199_930),
    _file("frost2.png", "98f0d2b1d74a048d3bc9c7ecfd886939", 299_002),
    _file("frost3.png", "b3ed8eb147824261888e730f916c0d8b", 299_002),
    _file("frost4.jpg", "d70b9d6aa0b1fe7bd8133b113787e078", 36_734),
    _file("frost5.jpg", "50984ae2c871b7df2c28f1d71ca460a0", 155_150),
)
"""All that frost draws from; the sixth of the archive is left out by the original."""


FILE_SET = FileSet("frost", FILES, "Apache-2.0 (hendrycks/robustness)")


_photographs_will_do: ContextVar[bool] = ContextVar("photographs_will_do", default=False)


@contextmanager
def photographs_will_do() -> Iterator[None]:
    """Let photographs inside scikit-learn take the place of missing textures in the block."""
    token = _photographs_will_do.set(True)
    try:
        yield
    finally:
        _photographs_will_do.reset(token)


def textures() -> tuple[UInt8[np.ndarray, "_ _ 3"], ...]:
    """Return the textures at a fifth of their size, downloaded where they are missing.

    Raises DataUnavailable, with the cure, where they are not to be had.
    """
    if FILE_SET.missing() and _photographs_will_do.get():
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
