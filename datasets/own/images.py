"""The user's images: a folder with a sub-folder of pictures for each class.

A folder may instead have the parts train and test (or val), each with a sub-folder per class.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.own.local import Local
from bnnbench.datasets.own.reading import digest
from bnnbench.datasets.reading import images, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.images import Labelled

SIDE = 32
"""Height and width to which every picture is scaled."""
ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm"})
TRAIN, TESTS = "train", ("test", "val", "validation")
FEWEST = 2
"""Minimum number of pictures per class."""

Pictures = Mapping[str, list[Path]]
"""Class → the files of its pictures."""


class _Rows(NamedTuple):
    train: Labelled
    test: Labelled


@dataclass(frozen=True)
class OwnImages(Local):
    """A folder's pictures, scaled to 32 x 32; sub-folders name the classes.

    If the folder has no parts, a tenth of each class is for testing. `sha256` covers all files:
    changed content makes another source with new runs.
    """

    path: str
    sha256: str
    labels: tuple[str, ...]

    origin: Origin = "own"
    licence: str = "of its owner"
    bytes: int = 0
    folds: int = 1

    @property
    def name(self) -> str:
        """The folder's name."""
        return Path(self.path).name

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.labels)

    def images(self, part: Part) -> Labelled:
        """Return raw images in random order, and their class numbers."""
        rows = self._rows()
        return rows.train if part == "train" else rows.test

    @cached(1)
    def load(self, fold: int) -> Dataset:
        """Return the only fold, standardised."""
        return images.load(self, fold)

    @cached(1)
    def _rows(self) -> _Rows:
        if digest(self.path) != self.sha256:
            raise BadTable(f"{self.path} changed while the command ran: run it again")
        train, test = _parts(Path(self.path))
        first = _read(train, self.labels)
        if test is not None:
            return _Rows(_shuffled(first), _shuffled(_read(test, self.labels)))
        pixels, numbers = first
        for_training, for_testing = tables.stratified_split(numbers, 0)
        return _Rows(
            (pixels[for_training], numbers[for_training]),
            (pixels[for_testing], numbers[for_testing]),
        )


def has_pictures(path: str) -> bool:
    """Return whether a path is a folder with sub-folders of pictures."""
    folder = Path(path)
    return folder.is_dir() and any(_parts(folder)[0].values())


def own_images(path: str) -> OwnImages:
    """Return the source of a folder, after reading every picture.

    Raises `BadTable` with cause and remedy.
    """
    full = Path(os.path.realpath(path))
    train, test = _parts(full)
    labels = tuple(sorted(label for label, files in train.items() if files))
    if len(labels) < 2:
        raise BadTable(f"{path} needs a sub-folder of pictures for each of at least two classes")
    if unknown := sorted({label for label, files in (test or {}).items() if files} - {*labels}):
        raise BadTable(f"class {unknown[0]!r} of {path} has pictures only for testing")
    few = [label for label in labels if len(train[label]) < FEWEST]
    if test is None and few:
        raise BadTable(f"class {few[0]!r} of {path} has only one picture: add some")
    if test is None and (count := sum(map(len, train.values()))) * tables.TEST_SHARE < len(labels):
        raise BadTable(f"{path} has {count} pictures of {len(labels)} classes: use ten of each")
    source = OwnImages(str(full), digest(str(full)), labels)
    source.images("train")
    return source


def _parts(folder: Path) -> tuple[Pictures, Pictures | None]:
    """Return the pictures for training and testing; the latter None if the folder has no parts."""
    tests = [folder / name for name in TESTS if (folder / name).is_dir()]
    if (folder / TRAIN).is_dir() and tests:
        return _pictures(folder / TRAIN), _pictures(tests[0])
    return _pictures(folder), None


def _pictures(folder: Path) -> Pictures:
    return {
        inner.name: sorted(file for file in inner.iterdir() if _is_picture(file))
        for inner in sorted(folder.iterdir())
        if inner.is_dir()
    }


def _is_picture(file: Path) -> bool:
    return file.suffix.lower() in ENDINGS and file.is_file()


def _read(pictures: Pictures, labels: tuple[str, ...]) -> Labelled:
    from PIL import Image

    pixels, numbers = [], []
    for number, label in enumerate(labels):
        for file in pictures.get(label, ()):
            try:
                with Image.open(file) as picture:
                    scaled = picture.convert("RGB").resize((SIDE, SIDE))
            except OSError as error:
                raise BadTable(f"{file} cannot be read as a picture: {error}") from error
            pixels.append(np.asarray(scaled, np.uint8))
            numbers.append(number)
    return np.stack(pixels), np.array(numbers, np.int64)


def _shuffled(rows: Labelled) -> Labelled:
    order = np.random.default_rng(0).permutation(len(rows[1]))
    return rows[0][order], rows[1][order]
