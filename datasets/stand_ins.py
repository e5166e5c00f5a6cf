"""Small real data that ships inside scikit-learn, for machines without data or network.

Their scores are never compared with published numbers.
"""

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.base import Dataset, Table, check_fold
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading import images, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.images import Labelled

DIGITS_TRAIN = 1437
"""Number of first rows of scikit-learn's digits for training; the other 360 are for testing."""


class _Shipped:
    """A source inside a dependency, without files of its own."""

    bytes = 0

    @property
    def origin(self) -> Origin:
        """The origin "stand-in": data inside a dependency."""
        return "stand-in"

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return nothing: the data ship with scikit-learn."""
        return ()

    def fetch(self, part: Part | None = None) -> None:
        """Do nothing: the data ship with scikit-learn."""

    def fallbacks(self, part: Part | None = None) -> tuple[()]:
        """Return no fallbacks: none is needed."""
        return ()


class _ShippedImages(_Shipped, ABC):
    """Images with one fold; a subclass makes them in `images`."""

    name: str
    classes: int
    licence: str
    folds = 1

    @abstractmethod
    def images(self, part: Part) -> Labelled:
        """Return raw images and labels."""
        ...

    @cached(2)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised; raises ValueError if there are no labels."""
        return images.load(self, fold)


@dataclass(frozen=True)
class DigitsAsMnist(_ShippedImages):
    """Scikit-learn's 1,797 handwritten digits, each 8x8 pixel drawn as 3x3, with a border of 2.

    Source: the test half of UCI's Optical Recognition of Handwritten Digits.
    """

    name = "digits_as_mnist"
    classes = 10
    licence = "CC BY 4.0 (UCI), inside scikit-learn"

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return 28x28 grey images and their digits."""
        digits, labels = _digits(part)
        images = np.pad(_enlarged(digits, 3), ((0, 0), (2, 2), (2, 2)))
        return images[..., None], labels


@dataclass(frozen=True)
class DigitsAsCifar10(_ShippedImages):
    """The same digits as 32x32 RGB: each 8x8 pixel drawn as 4x4, all channels equal."""

    name = "digits_as_cifar10"
    classes = 10
    licence = DigitsAsMnist.licence

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return 32x32 RGB images and their digits."""
        digits, labels = _digits(part)
        return np.repeat(_enlarged(digits, 4)[..., None], 3, axis=-1), labels


@dataclass(frozen=True)
class PhotographCrops(_ShippedImages):
    """Unlabelled crops of scikit-learn's two sample photographs (a temple, a flower).

    Neighbouring crops do not overlap but are not independent. Both parts are the same images.
    """

    size: int = 32
    grey: bool = False

    name = "photograph_crops"
    classes = 0
    licence = "CC BY, inside scikit-learn"

    @cached(2)
    def images(self, part: Part) -> Labelled:
        """Return the crops, row by row of each photograph, with labels of -1."""
        from sklearn.datasets import load_sample_images

        crops = np.concatenate([_tiles(photo, self.size) for photo in load_sample_images().images])
        if self.grey:
            luma = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
            crops = (crops @ luma).round().astype(np.uint8)[..., None]
        return crops, np.full(len(crops), -1)


@dataclass(frozen=True)
class DiabetesAsUci(_Shipped):
    """442 patients, 10 measurements, disease progression a year later; Gal's folds.

    Source: Efron et al. (2004), "Least Angle Regression".
    """

    name = "diabetes"
    folds = 20
    target = ("disease progression after one year", "index points")
    licence = "none stated, inside scikit-learn"

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised."""
        return tables.load(self, fold)

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold."""
        inputs, targets = self.rows()
        return tables.split_table(inputs, targets, *tables.gal_split(len(targets), fold))

    def rows(self) -> tuple[Float[np.ndarray, "rows features"], Float[np.ndarray, " rows"]]:
        """Return the inputs and targets of all rows, in the order of the file."""
        from sklearn.datasets import load_diabetes

        rows: Any = load_diabetes(scaled=False)
        return rows.data, rows.target


@dataclass(frozen=True)
class DigitsAsTable(_Shipped):
    """Scikit-learn's digits below `classes` as rows of 64 grey values, in stratified folds.

    Classes beyond ten are the digits turned by quarters. Source: the test half of UCI's Optical
    Recognition of Handwritten Digits.
    """

    classes: int = 10

    folds = 20
    target = ("digit", "")
    licence = DigitsAsMnist.licence

    def __post_init__(self) -> None:
        if not 2 <= self.classes <= 40:
            raise ValueError(f"needed 2 to 40 classes of digits; got {self.classes}")

    @property
    def name(self) -> str:
        """The name, with the number of classes unless all digits are used once."""
        return "digits_as_table" + f"_{self.classes}" * (self.classes != 10)

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised."""
        return tables.load(self, fold)

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold."""
        check_fold(self, fold)
        images, labels = _turned_digits(-(-self.classes // 10))
        chosen = labels < self.classes
        rows, targets = images[chosen].reshape(chosen.sum(), -1).astype(np.float64), labels[chosen]
        split = tables.stratified_split(targets, fold)
        return tables.split_table(rows, targets.astype(np.float64), *split, self.classes)


@functools.cache
def _all_digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    return (digits.images * 255 / 16).round().astype(np.uint8), digits.target.astype(np.int64)


def _turned_digits(turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the digits in as many positions, each a quarter further, with labels of their own."""
    images, labels = _all_digits()
    turned = [np.rot90(images, turn, axes=(1, 2)) for turn in range(turns)]
    return np.concatenate(turned), np.concatenate([labels + 10 * turn for turn in range(turns)])


def _digits(part: Part) -> tuple[np.ndarray, np.ndarray]:
    digits, labels = _all_digits()
    rows = slice(None, DIGITS_TRAIN) if part == "train" else slice(DIGITS_TRAIN, None)
    return digits[rows], labels[rows]


def _enlarged(digits: np.ndarray, times: int) -> np.ndarray:
    return digits.repeat(times, axis=1).repeat(times, axis=2)


def _tiles(photo: np.ndarray, size: int) -> np.ndarray:
    rows, columns = (side // size for side in photo.shape[:2])
    tiles = photo[: rows * size, : columns * size].reshape(rows, size, columns, size, 3)
    return tiles.swapaxes(1, 2).reshape(-1, size, size, 3)
