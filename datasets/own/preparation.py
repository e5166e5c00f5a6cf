"""How the columns of a table become numbers: decided once, and applied to any rows.

Everything here is a frozen dataclass of plain values, so that it can be stored and compared. Kinds
and categories of columns come from the whole file, so that all folds have the same features; the
medians that replace missing numbers come from training rows only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bnnbench.datasets.reading.columns import (
    MISSING,
    BadTable,
    column_of,
    numbers_of,
    require_categories,
    texts_of,
)


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; missing ones become `fill`, and 1 in a second feature if `marked`."""

    name: str
    fill: float = 0.0
    """The median of the training rows; 0 if none of them has a number."""
    marked: bool = False
    """Whether any row of the file lacks a number."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (self.name, f"{self.name} {MISSING}") if self.marked else (self.name,)

    def values(self, column: pd.Series) -> Float[np.ndarray, "rows features"]:
        """Return the features of a column."""
        numbers = numbers_of(column)
        gaps = np.isnan(numbers)
        filled = np.where(gaps, self.fill, numbers)
        return np.column_stack([filled, gaps * 1.0] if self.marked else [filled])


@dataclass(frozen=True)
class Categories:
    """A column of texts, with a feature for each level; another text is 0 in all of them."""

    name: str
    levels: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def values(self, column: pd.Series) -> Float[np.ndarray, "rows features"]:
        """Return the features of a column."""
        texts = texts_of(column).to_numpy()
        return np.column_stack([texts == level for level in self.levels]).astype(np.float64)


@dataclass(frozen=True)
class Preparation:
    """The columns that become features, each with what was decided about it."""

    columns: tuple[Numbers | Categories, ...]
    lines: tuple[str, ...] = ()
    """What was done to columns that are not plain numbers or categories; a sentence for each."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features; a column of texts has one per category."""
        return tuple(name for column in self.columns for name in column.names)

    def inputs(self, table: pd.DataFrame) -> Float[np.ndarray, "rows features"]:
        """Return the features of any rows, whose columns may be in any order.

        Raises `BadTable` if columns are missing, or have values of another kind.
        """
        given = {str(name): name for name in table.columns}
        if lacking := [column.name for column in self.columns if column.name not in given]:
            raise BadTable(f"the table lacks the columns {', '.join(map(repr, lacking[:8]))}")
        columns = [(c, column_of(table, given[c.name])) for c in self.columns]
        return np.hstack([column.values(values) for column, values in columns])


@dataclass(frozen=True)
class Answers:
    """The column to be predicted: numbers, or the classes of these labels."""

    name: str
    labels: tuple[str, ...] = ()
    """The class names in the order of their numbers; empty for numbers."""

    def values(self, column: pd.Series) -> Float[np.ndarray, " rows"]:
        """Return targets, or class numbers; raises `BadTable` for an unknown label."""
        if not self.labels:
            return numbers_of(column)
        places = {label: float(place) for place, label in enumerate(self.labels)}
        texts = column.astype(str).tolist()
        if strangers := [text for text in texts if text not in places]:
            raise BadTable(f"{strangers[0]!r} is no class of {self.name!r}")
        return np.array([places[text] for text in texts])


def prepare(table: pd.DataFrame, train: Sequence[int] | np.ndarray | None = None) -> Preparation:
    """Return how the columns of a table become features, given its training rows (None: all).

    Raises `BadTable` for a column that holds neither numbers nor categories.
    """
    rows = np.arange(len(table)) if train is None else np.asarray(train)
    columns = tuple(_decided(column_of(table, name), rows) for name in table.columns)
    if not columns:
        raise BadTable("the table has no columns besides the target and the split")
    return Preparation(columns)


def _decided(column: pd.Series, train: np.ndarray) -> Numbers | Categories:
    name = str(column.name)
    if is_numeric_dtype(column) or is_bool_dtype(column):
        numbers = numbers_of(column)
        return Numbers(name, _median(numbers[train]), bool(np.isnan(numbers).any()))
    require_categories(column)
    return Categories(name, tuple(sorted(texts_of(column).unique())))


def _median(numbers: np.ndarray) -> float:
    known = numbers[~np.isnan(numbers)]
    return float(np.median(known)) if len(known) else 0.0
