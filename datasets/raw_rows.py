"""The raw rows of a fold, their names, and the digest of all rows.

Another program trains on these rows and predicts for them; names and digest verify that it had the
same rows in the same order. Both also depend on the training rows, since some sources have the
same test inputs in all folds.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnnbench.datasets.base import Categorical, DataSource, TableSource, check_fold, has_images


@dataclass(frozen=True, eq=False)
class RawRows:
    """One fold before standardisation: features in original units, or 8-bit images.

    Targets are labels, or real numbers in original units.
    """

    train_inputs: np.ndarray
    train_targets: np.ndarray
    test_inputs: np.ndarray
    test_targets: np.ndarray
    classes: int = 0
    """The number of classes; 0 for real targets."""

    @cached_property
    def rows_sha256(self) -> str:
        """The SHA-256 of training inputs and targets and of test inputs: types, shapes, values."""
        digest = hashlib.sha256()
        for part in (self.train_inputs, self.train_targets, self.test_inputs):
            array = _canonical(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.reshape(-1).view("u1").data)
        return digest.hexdigest()

    @property
    def train_names(self) -> tuple[str, ...]:
        """A name for each training row."""
        return self._names(self.train_inputs)

    @cached_property
    def test_names(self) -> tuple[str, ...]:
        """A name for each test row, unique across folds."""
        return self._names(self.test_inputs)

    def _names(self, inputs: np.ndarray) -> tuple[str, ...]:
        """Return each row's position with eight digits of a digest of the fold and the row."""
        flat = _canonical(inputs).reshape(len(inputs), -1).view("u1")
        fold = hashlib.sha256(self.rows_sha256.encode())
        names = []
        for place, row in enumerate(flat):
            digest = fold.copy()
            digest.update(row.data)
            names.append(f"{place}-{digest.hexdigest()[:8]}")
        return tuple(names)


def raw_rows(source: DataSource, fold: int) -> RawRows:
    """Return the rows of a fold in the order of `source.load(fold)`.

    Sources of images and tables return them as in the files. For other sources, the standardised
    rows are scaled back, with rounding.
    """
    check_fold(source, fold)
    if has_images(source):
        train, test = source.images("train"), source.images("test")
        return RawRows(*train, *test, classes=source.classes)
    if isinstance(source, TableSource):
        table = source.table(fold)
        kind = np.int64 if table.classes else np.float64
        train = table.train_inputs, table.train_targets.astype(kind)
        test = table.test_inputs, table.test_targets.astype(kind)
        return RawRows(*train, *test, classes=table.classes)
    data = source.load(fold)
    parts = []
    for split in (data.train, data.test):
        targets = split.targets.double() if data.target else split.targets
        if data.target:
            targets = (data.target.mean + data.target.std * targets).squeeze(1)
        parts += [data.scaling.invert(split.inputs.double()).numpy(), targets.numpy()]
    classes = data.likelihood.classes if isinstance(data.likelihood, Categorical) else 0
    return RawRows(*parts, classes=classes)


def _canonical(inputs: np.ndarray) -> np.ndarray:
    """Return the array in one layout and byte order: bytes for images, else float64."""
    kind = "u1" if inputs.dtype == np.uint8 else "<f8"
    return np.ascontiguousarray(inputs, dtype=kind)
