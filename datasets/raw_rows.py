"""The raw rows of a fold, the names of its test rows, and the digest of their inputs.

Another program predicts for these rows; names and digest say that its predictions are for the same
rows in the same order.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnnbench.datasets.base import Categorical, DataSource, TableSource, check_fold, has_images


@dataclass(frozen=True, eq=False)
class RawRows:
    """One fold before it is standardised: features in original units, or images of 8 bits.

    Targets are labels, or real numbers in original units.
    """

    train_inputs: np.ndarray
    train_targets: np.ndarray
    test_inputs: np.ndarray
    test_targets: np.ndarray
    classes: int = 0
    """The number of classes; 0 for real targets."""

    @cached_property
    def train_names(self) -> tuple[str, ...]:
        """A name for each training row; see `names_of`."""
        return names_of(self.train_inputs)

    @cached_property
    def test_names(self) -> tuple[str, ...]:
        """A name for each test row; see `names_of`."""
        return names_of(self.test_inputs)

    @cached_property
    def inputs_sha256(self) -> str:
        """The SHA-256 of the test inputs: of their type, shape and values."""
        array = _canonical(self.test_inputs)
        digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.reshape(-1).view("u1").data)
        return digest.hexdigest()


def raw_rows(source: DataSource, fold: int) -> RawRows:
    """Return the rows of a fold in the order of `source.load(fold)`.

    Sources of images and tables give them as they are in the files. Of others, the standardised
    rows are scaled back, which rounds.
    """
    check_fold(source, fold)
    if has_images(source):
        train, test = source.images("train"), source.images("test")
        return RawRows(*train, *test, classes=source.classes)
    if isinstance(source, TableSource):
        table = source.table(fold)
        train = table.train_inputs, table.train_targets
        return RawRows(*train, table.test_inputs, table.test_targets)
    data = source.load(fold)
    parts = []
    for split in (data.train, data.test):
        targets = split.targets.double() if data.target else split.targets
        if data.target:
            targets = (data.target.mean + data.target.std * targets).squeeze(1)
        parts += [data.scaling.invert(split.inputs.double()).numpy(), targets.numpy()]
    classes = data.likelihood.classes if isinstance(data.likelihood, Categorical) else 0
    return RawRows(*parts, classes=classes)


def names_of(inputs: np.ndarray) -> tuple[str, ...]:
    """Return a name for each row: its position, and eight digits of the SHA-256 of its values."""
    array = _canonical(inputs)
    flat = array.reshape(len(array), -1).view("u1")
    return tuple(
        f"{place}-{hashlib.sha256(row.data).hexdigest()[:8]}" for place, row in enumerate(flat)
    )


def _canonical(inputs: np.ndarray) -> np.ndarray:
    """Return the array in one layout and byte order: bytes for images, float64 for the others."""
    kind = "u1" if inputs.dtype == np.uint8 else "<f8"
    return np.ascontiguousarray(inputs, dtype=kind)
