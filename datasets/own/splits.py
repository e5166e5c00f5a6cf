"""Training and test rows of a user's table: random tenths, whole groups, or a split column."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Int
from sklearn.model_selection import GroupShuffleSplit

from bnnbench.datasets.own.notes import quoted
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.tables import TEST_SHARE, gal_split, stratified_split

FOLDS = 10
FEW_ROWS = 20
"""With fewer rows, each is tested once, alone."""
PARTS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""Words of a split column → the part that they mean. Validation rows are training rows."""

Cut = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Splits:
    """The facts about a table's rows by which they are split."""

    rows: int
    classes: np.ndarray | None = None
    split: pd.Series | None = None
    groups: pd.Series | None = None
    copies: Int[np.ndarray, " rows"] | None = None
    """The number of each row among the different ones; None if no row repeats another."""

    @property
    def folds(self) -> int:
        """The number of folds; raises `BadTable` if the split column has invalid values."""
        if self.split is not None:
            return 1 if _parts(self.split) is not None else int(self.split.nunique())
        return self._units if self.have_few_rows else FOLDS

    @property
    def have_few_rows(self) -> bool:
        """Whether each row is tested once, alone."""
        return self.split is None and self.groups is None and self.rows < FEW_ROWS

    @property
    def lines(self) -> tuple[str, ...]:
        """Sentences on unusual splits."""
        if self.split is not None:
            parts = _parts(self.split)
            count = 0 if parts is None else np.count_nonzero(parts == "validation")
            return (
                f"{count} validation rows of {self.split.name!r} join the training rows",
            ) * bool(count)
        if self.have_few_rows:
            return (
                f"{self.rows} rows are few: each is tested once, alone, and chance may decide "
                "between methods",
            )
        return ()

    def cut(self, fold: int) -> Cut:
        """Return training and test rows, in random order unless a split column gives them."""
        if self.split is not None:
            parts = _parts(self.split)
            tested = (self.split == fold).to_numpy() if parts is None else parts == "test"
            return np.flatnonzero(~tested), np.flatnonzero(tested)
        if self.groups is not None:
            splitter = GroupShuffleSplit(1, test_size=TEST_SHARE, random_state=fold)
            return next(splitter.split(np.arange(self.rows), groups=self.groups.astype(str)))
        if self.copies is None:
            return self._random(fold, self.rows, self.classes)
        classes = self.classes
        first = np.unique(self.copies, return_index=True)[1]
        train, test = self._random(fold, len(first), None if classes is None else classes[first])
        return _rows_of(train, self.copies), _rows_of(test, self.copies)

    @property
    def _units(self) -> int:
        """The number of different rows."""
        return self.rows if self.copies is None else len(np.unique(self.copies))

    def _random(self, fold: int, count: int, classes: np.ndarray | None) -> Cut:
        if self.rows < FEW_ROWS:
            return np.delete(np.arange(count), fold), np.array([fold])
        if classes is None or not _have_enough(classes):
            return gal_split(count, fold)
        return stratified_split(classes, fold)


def _have_enough(classes: np.ndarray) -> bool:
    """Return whether a tenth of the rows can have one of each class, and the rest too.

    Rows that repeat others count once, so that a class may lack them.
    """
    counts = np.unique(classes, return_counts=True)[1]
    return counts.min() > 1 and len(classes) * TEST_SHARE >= len(counts)


def _rows_of(units: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """Return the rows of some different ones, in their order."""
    order = np.argsort(copies, kind="stable")
    starts = np.searchsorted(copies[order], np.arange(copies.max() + 2))
    return np.concatenate([order[starts[unit] : starts[unit + 1]] for unit in units])


def _parts(split: pd.Series) -> np.ndarray | None:
    """Return the part of each row; None for fold numbers. Raises `BadTable` for anything else."""
    if split.isna().any():
        raise BadTable(f"the split column {split.name!r} has empty cells")
    values = sorted(split.unique(), key=str)
    if values == list(range(len(values))) and len(values) > 1:
        return None
    texts = split.astype(str).str.strip().str.lower()
    parts = texts.map(PARTS)
    if parts.isna().any() or not {"train", "test"} <= set(parts):
        raise BadTable(
            f"the split column {split.name!r} needs the words train and test (and validation), or "
            f"fold numbers starting at 0; got {quoted(values, 5)}"
        )
    return parts.to_numpy()
