"""Training and test rows of a user's table: random tenths, whole groups, or a split column."""

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit

from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.tables import TEST_SHARE, gal_split, stratified_split

FOLDS = 10
WORDS = ("train", "test")

Cut = tuple[np.ndarray, np.ndarray]


def fold_count(split: pd.Series | None) -> int:
    """Return the number of folds; raises `BadTable` if the split column has invalid values."""
    if split is None:
        return FOLDS
    values = sorted(split.dropna().unique(), key=str)
    if split.isna().any():
        raise BadTable(f"the split column {split.name!r} has empty cells")
    if set(values) == set(WORDS):
        return 1
    if values == list(range(len(values))) and len(values) > 1:
        return len(values)
    shown = ", ".join(map(str, values[:5]))
    raise BadTable(
        f"the split column {split.name!r} needs the words train and test, or fold numbers "
        f"starting at 0; got {shown}"
    )


def cut(
    fold: int,
    rows: int,
    classes: np.ndarray | None,
    split: pd.Series | None,
    groups: pd.Series | None,
) -> Cut:
    """Return training and test rows of a fold, in random order unless a split column gives them."""
    if split is not None:
        tested = (split == (fold if fold_count(split) > 1 else "test")).to_numpy()
        return np.flatnonzero(~tested), np.flatnonzero(tested)
    everything = np.arange(rows)
    if groups is not None:
        splitter = GroupShuffleSplit(1, test_size=TEST_SHARE, random_state=fold)
        return next(splitter.split(everything, groups=groups.astype(str)))
    if classes is not None:
        return stratified_split(classes, fold)
    return gal_split(rows, fold)
