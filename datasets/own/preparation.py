"""How the columns of a table become numbers: decided once, and applied to any rows.

Everything here is a frozen dataclass of plain values, so that it can be stored and compared. Kinds
of columns and their categories come from the whole file, so that all folds have the same features.
The medians that replace missing numbers, and which texts are frequent, come from training rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from jaxtyping import Float

from bnnbench.datasets.own.columns.deciding import columns_of
from bnnbench.datasets.own.columns.kinds import Categories, Column, Numbers
from bnnbench.datasets.own.columns.notation import Notation
from bnnbench.datasets.own.columns.numerals import Commas
from bnnbench.datasets.own.notes import Note, quoted
from bnnbench.datasets.reading.columns import BadTable, texts_of


@dataclass(frozen=True)
class Preparation:
    """The columns that become features, each with what was decided about it."""

    columns: tuple[Column, ...]
    lines: tuple[str, ...] = ()
    """A sentence for each column that is neither plain numbers nor categories, on its treatment."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features; a column of texts has one per category."""
        return tuple(name for column in self.columns for name in column.names)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that a file of further rows must not have read as numbers."""
        return tuple(c.name for c in self.columns if _is_written(c))

    def fitted(self, table: pd.DataFrame) -> "Preparation":
        """Return the preparation with all values that are learned from training rows."""
        given = _by_name(table)
        return replace(self, columns=tuple(c.fitted(given[c.name]) for c in self.columns))

    def inputs(self, table: pd.DataFrame) -> Float[np.ndarray, "rows features"]:
        """Return the features of any rows, whose columns may be in any order.

        Raises `BadTable` if columns are missing, or have values of another kind.
        """
        given = _by_name(table)
        if lacking := [column.name for column in self.columns if column.name not in given]:
            raise BadTable(f"the table lacks columns: {quoted(lacking, 8)}")
        return np.hstack([c.values(given[c.name]) for c in self.columns])


@dataclass(frozen=True)
class Answers:
    """The column to be predicted: numbers, or the classes of these labels."""

    name: str
    labels: tuple[str, ...] = ()
    """The class names in the order of their numbers; empty for numbers."""
    notation: Notation = field(default_factory=Notation)
    """How the file writes the numbers, if it has texts."""

    def values(self, column: pd.Series) -> Float[np.ndarray, " rows"]:
        """Return targets, or class numbers; raises `BadTable` for an unknown label."""
        if not self.labels:
            return self.notation.numbers(column)
        places = {label: float(place) for place, label in enumerate(self.labels)}
        texts = texts_of(column).tolist()
        if strangers := [text for text in texts if text not in places]:
            raise BadTable(f"{quoted(strangers, 1)} is no class of {self.name!r}")
        return np.array([places[text] for text in texts])


def decided(
    table: pd.DataFrame, commas: Commas = "thousands", *, strict: bool = False
) -> tuple[Preparation, list[Note]]:
    """Return how columns become features, before anything is learned from training rows.

    `commas` says what a comma before three digits means where no column shows it. Raises `BadTable`
    for a column that cannot become numbers, and if `strict` for the first note.
    """
    columns, notes = columns_of(table, commas, strict=strict)
    return Preparation(columns, tuple(note.done for note in notes)), notes


def prepare(table: pd.DataFrame, train: Sequence[int] | np.ndarray | None = None) -> Preparation:
    """Return how the columns of a table become features, given its training rows (None: all)."""
    rows = np.arange(len(table)) if train is None else np.asarray(train)
    return decided(table)[0].fitted(table.iloc[rows])


def _by_name(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the columns by their names as texts."""
    return {str(name): column for name, column in table.items()}


def _is_written(column: Column) -> bool:
    """Return whether a column's file has texts."""
    if isinstance(column, Numbers):
        return column.notation != Notation()
    return isinstance(column, Categories) or bool(column.format)
