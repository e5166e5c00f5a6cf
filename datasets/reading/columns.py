"""Columns of a table as numbers: categories, missing values, labels.

The medians that replace missing numbers are learned from training rows only. Categories come from
the whole file, so that all folds have the same features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

MOST_CATEGORIES = 50
"""A text column with more distinct values is rejected: it holds names or dates, not categories."""
MOST_CLASSES = 20
"""Maximum number of distinct values for an integer target to count as classes."""
MISSING = "missing"
MOST_NAMES = 8
"""Maximum number of columns listed in a sentence."""


class BadTable(ValueError):
    """The table cannot be used; the message names the column or row, and the remedy."""


@dataclass(frozen=True)
class Features:
    """The features of all rows; NaN for missing numbers."""

    names: tuple[str, ...]
    values: np.ndarray
    """`rows features`, float64."""

    def filled(self, train: np.ndarray) -> np.ndarray:
        """Return the values with missing numbers replaced by their feature's median in training.

        A feature without any number in the training rows becomes 0 instead.
        """
        known = self.values[train]
        some = ~np.isnan(known).all(0)
        medians = np.zeros(len(self.names))
        medians[some] = np.nanmedian(known[:, some], axis=0)
        return np.where(np.isnan(self.values), medians, self.values)


def column_of(table: pd.DataFrame, name: str) -> pd.Series:
    """Return the column of this name, which must be unique."""
    return cast(pd.Series, table[name])


def in_words(table: pd.DataFrame) -> str:
    """Return how a table's columns are read as features, and which are of doubtful use."""
    numbers, categories, same, different = [], [], [], []
    for name in map(str, table.columns):
        column = column_of(table, name)
        kinds = column.nunique(dropna=False)
        if pd.api.types.is_numeric_dtype(column):
            numbers.append(name)
        else:
            categories.append(f"{name} ({kinds})")
        if kinds <= 1:
            same.append(name)
        elif kinds == len(table) and not pd.api.types.is_float_dtype(column):
            different.append(name)
    parts = {
        "numbers: ": numbers,
        "categories, with how many values: ": categories,
        "the same in every row: ": same,
        "different in every row, so that --drop may help if they only number rows: ": different,
    }
    return "; ".join(f"{title}{_first(names)}" for title, names in parts.items() if names)


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def features_of(table: pd.DataFrame) -> Features:
    """Return columns as numbers: one feature per category, and an indicator of missing numbers."""
    names: list[str] = []
    columns: list[np.ndarray] = []
    for name in map(str, table.columns):
        for feature, values in _numbers(name, column_of(table, name)):
            names.append(feature)
            columns.append(values)
    if not columns:
        raise BadTable("the table has no columns besides the target and the split")
    return Features(tuple(names), np.column_stack(columns))


def _numbers(name: str, column: pd.Series) -> list[tuple[str, np.ndarray]]:
    if pd.api.types.is_datetime64_any_dtype(column):
        raise BadTable(f"column {name!r} contains dates: convert it to numbers, or leave it out")
    if pd.api.types.is_bool_dtype(column):
        return [(name, column.to_numpy(np.float64))]
    if pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(np.float64, na_value=np.nan)
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise BadTable(f"column {name!r} is infinite in row {row + 1}")
        gaps = np.isnan(values)
        return [(name, values), *([(f"{name} {MISSING}", gaps * 1.0)] if gaps.any() else [])]
    texts = column.astype("string").fillna(MISSING)
    kinds = sorted(texts.unique())
    if have_decimal_commas(column):
        raise BadTable(f"column {name!r} {_commas(column)}")
    if len(kinds) > MOST_CATEGORIES or mostly_numbers(column):
        cause = _texts_among(column, "write numbers or nothing there") or (
            f"has {len(kinds)} different texts, more than {MOST_CATEGORIES}: leave it out with "
            f"--drop {name!r}, or turn it into numbers"
        )
        raise BadTable(f"column {name!r} {cause}")
    return [(f"{name}={kind}", (texts == kind).to_numpy(np.float64)) for kind in kinds]


def have_decimal_commas(column: pd.Series) -> bool:
    """Return whether all texts of a column are numbers, some of them with a decimal comma.

    Raises `BadTable` if three digits follow every comma, since it may then separate thousands.
    """
    texts = [str(text) for text in column.dropna()]
    commas = [text for text in texts if "," in text]
    if not commas or not all(_is_number(text.replace(",", ".")) for text in texts):
        return False
    if all(len(text.partition(",")[2]) == 3 for text in commas):
        raise BadTable(
            f"column {column.name!r} has ambiguous commas, such as in {commas[0]!r} (decimals or "
            "thousands): write decimal points, and no separator for thousands"
        )
    return True


def mostly_numbers(column: pd.Series) -> bool:
    """Return whether most texts are numbers, with more distinct values than classes would have."""
    texts = [str(text) for text in column.dropna()]
    numbers = [text for text in texts if _is_number(text)]
    some_texts = len(numbers) < len(texts) < 2 * len(numbers)
    return some_texts and len({float(text) for text in numbers}) > MOST_CLASSES


def _commas(column: pd.Series) -> str:
    first = next(text for text in map(str, column.dropna()) if "," in text)
    return f"has numbers with a decimal comma, such as {first!r}: write points"


def _texts_among(column: pd.Series, cure: str) -> str:
    """Return a sentence on the non-numeric texts in a mostly numeric column; "" otherwise.

    `cure` is the remedy to recommend.
    """
    texts = [str(text) for text in column.dropna()]
    strange = [text for text in texts if not _is_number(text)]
    if not strange:
        return "has numbers that are stored as texts: store them as numbers"
    if 2 * len(strange) >= len(texts):
        return ""
    kinds = ", ".join(map(repr, list(dict.fromkeys(strange))[:3]))
    return f"has numbers but for {kinds} in {len(strange)} of {len(texts)} rows: {cure}"


def _is_number(text: str) -> bool:
    """Return whether a text is a number; "1_000", which Python accepts, is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def is_classes(target: pd.Series) -> bool:
    """Return whether a target holds classes: texts, booleans, or few distinct integers."""
    if pd.api.types.is_bool_dtype(target) or not pd.api.types.is_numeric_dtype(target):
        return True
    values = target.dropna()
    return bool((values == values.round()).all()) and values.nunique() <= MOST_CLASSES


def require_whole(target: pd.Series, classes: bool = False) -> None:
    """Raise `BadTable` if the target has missing or infinite values.

    Also raises it if texts look like numbers, unless the targets are declared as `classes`.
    """
    if (gaps := target.isna()).any():
        row, count = int(np.flatnonzero(gaps)[0]) + 1, int(gaps.sum())
        which = f"row {row}" if count == 1 else f"{count} rows, the first of which is row {row}"
        raise BadTable(
            f"the target {target.name!r} has no value in {which} (row 1 is the first below the "
            "column names): remove such rows from the file"
        )
    if pd.api.types.is_numeric_dtype(target):
        if not np.isfinite(target.astype(float)).all():
            raise BadTable(f"the target {target.name!r} has infinite values")
    elif not classes:
        cause = ""
        if have_decimal_commas(target):
            cause = _commas(target)
        elif target.nunique() > MOST_CATEGORIES or mostly_numbers(target):
            cause = _texts_among(target, "write numbers there, or leave these rows out")
        if cause:
            raise BadTable(f"the target {target.name!r} {cause}")
