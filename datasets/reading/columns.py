"""Columns of a table as numbers or texts, and what to do about values that are neither."""

from typing import cast

import numpy as np
import pandas as pd

MOST_CATEGORIES = 50
"""A text column with more distinct values is rejected: it holds names or dates, not categories."""
MOST_CLASSES = 20
"""Maximum number of distinct values for an integer target to count as classes."""
FEWEST_NUMBERS = 10
"""Minimum number of integers that are numbers if most occur once."""
LARGEST_WHOLE = 2.0**63
MISSING = "missing"
_TRUTHS = {"True": 1.0, "False": 0.0}


class BadTable(ValueError):
    """The table cannot be used; the message names the column or row, and the remedy."""


def column_of(table: pd.DataFrame, name: str) -> pd.Series:
    """Return the column of this name, which must be unique."""
    return cast(pd.Series, table[name])


def numbers_of(column: pd.Series) -> np.ndarray:
    """Return a column's numbers, NaN for missing ones; truths are 1 and 0.

    Raises `BadTable` for texts and infinite numbers.
    """
    name = str(column.name)
    if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        column = _of_objects(column)
    values = column.to_numpy(np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise BadTable(f"column {name!r} is infinite in row {row + 1}")
    return values


def _of_objects(column: pd.Series) -> pd.Series:
    """Return the numbers of texts and objects; raises `BadTable` for anything else."""
    plain = column.map(lambda value: _TRUTHS.get(str(value), value), na_action="ignore")
    numbers = cast(pd.Series, pd.to_numeric(plain, errors="coerce"))
    if strange := [value for value in plain[numbers.isna().to_numpy()] if not pd.isna(value)]:
        raise BadTable(f"column {str(column.name)!r} needs numbers; got {strange[0]!r}")
    return numbers


def texts_of(column: pd.Series) -> pd.Series:
    """Return a column's texts without blanks around them, and `MISSING` for missing ones.

    Whole numbers have no point.
    """
    if pd.api.types.is_float_dtype(column) and _are_whole(column.dropna()):
        column = column.astype("Int64")
    texts = column.astype("string").str.strip()
    return texts.mask(texts == "").fillna(MISSING)


def _are_whole(numbers: pd.Series) -> bool:
    """Return whether numbers are whole, and small enough to be written without an exponent."""
    return bool((numbers % 1 == 0).all() and (numbers.abs() < LARGEST_WHOLE).all())


def mostly_numbers(column: pd.Series) -> bool:
    """Return whether most texts are numbers, with more distinct values than classes would have."""
    texts = [str(text) for text in column.dropna()]
    numbers = [text for text in texts if _is_number(text)]
    some_texts = len(numbers) < len(texts) < 2 * len(numbers)
    return some_texts and len({float(text) for text in numbers}) > MOST_CLASSES


def texts_among(column: pd.Series, cure: str) -> str:
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
    """Return whether a target holds classes: texts, booleans, or few distinct integers.

    Integers of ten rows or more are numbers if most of them occur once.
    """
    if pd.api.types.is_bool_dtype(target) or not pd.api.types.is_numeric_dtype(target):
        return True
    values = target.dropna()
    counts = values.value_counts()
    if len(values) >= FEWEST_NUMBERS and 2 * (counts == 1).sum() > len(values):
        return False
    return bool((values == values.round()).all()) and len(counts) <= MOST_CLASSES
