"""A file's rows and columns after all decisions: what is learned from, and what is to be told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from bnnbench.datasets.own.answering import Task, answers_of, with_words
from bnnbench.datasets.own.columns.dates import Dates
from bnnbench.datasets.own.columns.kinds import Categories, Numbers
from bnnbench.datasets.own.columns.numerals import Commas, commas_in
from bnnbench.datasets.own.doubts import doubts_about
from bnnbench.datasets.own.notes import Note, Sheet, require_none
from bnnbench.datasets.own.preparation import Answers, Preparation, decided
from bnnbench.datasets.reading.columns import column_of, texts_of

MOST_NAMES = 8
"""Maximum number of columns listed in a sentence."""


@dataclass(frozen=True, eq=False)
class Contents:
    """The rows that have a target, and how they become numbers."""

    rows: pd.DataFrame
    """All columns of these rows, as the file has them."""
    features: tuple[str, ...]
    """The columns that may become features."""
    preparation: Preparation
    """Not yet fitted to training rows."""
    answers: Answers
    targets: Float[np.ndarray, " rows"]
    copies: Int[np.ndarray, " rows"] | None
    """The number of each row among the different ones; None if no row repeats another."""
    notes: tuple[Note, ...]
    """Decisions about the file, its rows and its columns."""

    @property
    def lines(self) -> tuple[str, ...]:
        """A sentence for each decision, and for each doubt about a comparison on this table."""
        fitted = self.preparation.fitted(self.rows)
        table = cast(pd.DataFrame, self.rows[list(self.features)])
        doubts = doubts_about(table, fitted, self.targets, self.answers.labels)
        return (*(note.done for note in self.notes), *self._on_copies(), *doubts)

    def _on_copies(self) -> tuple[str, ...]:
        if self.copies is None:
            return ()
        count = len(self.copies) - len(np.unique(self.copies))
        repeat = "1 row repeats another" if count == 1 else f"{count} rows repeat others"
        return (f"{repeat}: equal rows are on one side of each random split",)


def contents_of(
    sheet: Sheet,
    target: str,
    task: Task | None,
    others: Sequence[str] = (),
    *,
    strict: bool = False,
) -> Contents:
    """Return the contents of a table whose columns `others` are no features.

    Raises `BadTable` for a target or a column that cannot become numbers, and if `strict` for the
    first note.
    """
    sheet = with_words(sheet, target)
    commas, column = commas_of(sheet), column_of(sheet.frame, target)
    answers, has_target, notes = answers_of(column, task, commas)
    if strict:
        require_none([*sheet.notes, *notes])
    rows = sheet.frame.iloc[np.flatnonzero(has_target)].reset_index(drop=True)
    features = rows.drop(columns=[target, *others])
    preparation, on_columns = decided(features, commas, strict=strict)
    targets = answers.values(column_of(rows, target))
    copies = copies_in(features, preparation.fitted(features), targets)
    notes = (*sheet.notes, *notes, *on_columns)
    names = tuple(features.columns)
    return Contents(rows, names, preparation, answers, targets, copies, notes)


def task_of(sheet: Sheet, target: str) -> Task:
    """Return the task that a target suggests; raises `BadTable` like `answers_of`."""
    sheet = with_words(sheet, target)
    answers, _, _ = answers_of(column_of(sheet.frame, target), None, commas_of(sheet))
    return "classification" if answers.labels else "regression"


def commas_of(sheet: Sheet) -> Commas:
    """Return what a comma before three digits means in a file.

    Its separator of columns says so, or other numbers in it.
    """
    if sheet.separator in ("", ","):
        return "thousands"
    columns = [column_of(sheet.frame, name) for name in sheet.frame.columns]
    return commas_in([c for c in columns if not is_numeric_dtype(c)], "unknown")


def in_words(contents: Contents) -> str:
    """Return how the columns are read as features, and which are of doubtful use."""
    columns = contents.preparation.columns
    given = {c.name: column_of(contents.rows, c.name) for c in columns}
    kinds = {name: int(column.nunique(dropna=False)) for name, column in given.items()}
    whole = [name for name, column in given.items() if is_integer_dtype(column)]
    texts = [c for c in columns if isinstance(c, Categories)]
    parts = {
        "numbers: ": [c.name for c in columns if isinstance(c, Numbers)],
        "dates: ": [c.name for c in columns if isinstance(c, Dates)],
        "categories, with how many values: ": [f"{c.name} ({kinds[c.name]})" for c in texts],
        "the same in every row: ": [name for name, count in kinds.items() if count <= 1],
        "different in every row, so that --drop may help if they only number rows: ": [
            name for name in whole if kinds[name] == len(contents.rows) > 1
        ],
    }
    return "; ".join(f"{title}{_first(names)}" for title, names in parts.items() if names)


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def copies_in(
    table: pd.DataFrame, preparation: Preparation, targets: Float[np.ndarray, " rows"]
) -> Int[np.ndarray, " rows"] | None:
    """Return the number of each row among the different ones; None if no row repeats another.

    Rows count as repeated if features and target are equal, but not if columns have so few values
    that equal rows are expected by chance, or most rows occur several times, unequally often.
    """
    rows = pd.DataFrame(np.column_stack([preparation.inputs(table), targets]))
    if not rows.duplicated().any():
        return None
    columns = [texts_of(column_of(table, column.name)) for column in preparation.columns]
    kinds = [column.nunique() for column in columns] + [len(np.unique(targets))]
    numbers = np.asarray(rows.groupby(list(rows.columns), sort=False).ngroup())
    times = np.bincount(numbers)
    if times.mean() > 2 and times.min() < times.max():
        return None
    is_continuous = 2 * max(kinds) > numbers.max()
    if not is_continuous and np.sum(np.log(kinds)) < np.log(len(rows) ** 2 / 2):
        return None
    return numbers
