"""The kind of each column of a table: numbers, dates, categories, or of no use."""

import re

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from bnnbench.datasets.own.columns.dates import Dates, formats_of, with_parts
from bnnbench.datasets.own.columns.kinds import Categories, Column, Numbers
from bnnbench.datasets.own.columns.notation import are_codes, on_codes, stripped
from bnnbench.datasets.own.columns.numerals import Commas, note_on, numerals_of
from bnnbench.datasets.own.notes import Note, require_none
from bnnbench.datasets.reading.columns import (
    MISSING,
    MOST_CATEGORIES,
    BadTable,
    column_of,
    numbers_of,
    texts_of,
)

UNNAMED = re.compile(r"Unnamed: \d+")
"""The name that pandas gives to a column without one."""
FREQUENT_ROWS, FREQUENT_SHARE, MOST_FREQUENT = 5, 0.01, 20
"""Minimum rows, and minimum share of rows, of a frequent text; maximum number of such texts."""
FEWEST_NAMES = 10
"""Minimum number of texts, all different, that name rows."""

Decision = tuple[Column | None, Note | None]


def columns_of(
    table: pd.DataFrame, commas: Commas = "thousands", *, strict: bool = False
) -> tuple[tuple[Column, ...], list[Note]]:
    """Return the columns that become features, and notes on those that need one.

    Numbers with decimal commas are expected where `commas` are not known to separate thousands.
    Raises `BadTable` for a column that cannot become numbers, and if `strict` for the first note.
    """
    columns = [column_of(table, name) for name in table.columns]
    decisions = [_decided(column, commas, commas != "thousands") for column in columns]
    used = tuple(column for column, _ in decisions if column is not None)
    notes = [note for _, note in decisions if note is not None]
    if strict:
        require_none(notes)
    if not used:
        why = "".join(f"; {note.done}" for note in notes[:3])
        raise BadTable(f"the table has no columns besides the target and the split{why}")
    return used, notes


def _decided(column: pd.Series, commas: Commas, is_decimal: bool) -> Decision:
    name = str(column.name)
    if column.isna().all():
        return _left_out(name, "has no value in any row")
    if is_numeric_dtype(column) or is_bool_dtype(column):
        return _of_numbers(name, numbers_of(column))
    if is_datetime64_any_dtype(column):
        return _of_dates(Dates(name), column, [])
    if are_codes(stripped(column)):
        kind, note = _of_texts(name, texts_of(column))
        return kind, note or on_codes(name, stripped(column).dropna())
    try:
        numerals = numerals_of(column, commas)
    except BadTable as error:
        raise BadTable(f"column {name!r} {error}") from error
    if numerals is not None:
        numbers = numerals.notation.numbers(column)
        kind = Numbers(name, 0.0, bool(np.isnan(numbers).any()), numerals.notation)
        return kind, note_on(numerals, name, is_target=False, is_decimal=is_decimal)
    if formats := formats_of(column):
        return _of_dates(Dates(name, formats[0]), column, formats)
    return _of_texts(name, texts_of(column))


def _of_numbers(name: str, numbers: np.ndarray) -> Decision:
    if UNNAMED.fullmatch(name) and (np.diff(numbers) > 0).all() and not (numbers % 1).any():
        return _left_out(name, "has no name and counts the rows")
    return Numbers(name, 0.0, bool(np.isnan(numbers).any())), None


def _of_dates(dates: Dates, column: pd.Series, formats: list[str]) -> Decision:
    kind = with_parts(dates, column)
    also = f", with {', '.join(kind.parts[1:])}" if kind.parts[1:] else ""
    unsure = f"; {formats[0]} is assumed, {formats[1]} would fit too" if len(formats) > 1 else ""
    told = f"{kind.name}: dates become days since 1970{also}{unsure}"
    cure = f"column {kind.name!r} contains dates: convert it to numbers, or leave it out"
    return kind, Note(told, cure)


def _of_texts(name: str, texts: pd.Series) -> Decision:
    counts = texts.value_counts()
    known = counts.drop(MISSING, errors="ignore")
    refused = (
        f"column {name!r} has {len(counts)} different texts, more than {MOST_CATEGORIES}: leave it "
        f"out with --drop {name!r}, or turn it into numbers"
    )
    if len(known) >= FEWEST_NAMES and known.max() == 1:
        many = refused if len(counts) > MOST_CATEGORIES else ""
        return _left_out(name, "has a different text in every row", many)
    if len(counts) <= MOST_CATEGORIES:
        return Categories(name, tuple(sorted(map(str, counts.index)))), None
    least = max(FREQUENT_ROWS, FREQUENT_SHARE * len(texts))
    frequent = min(MOST_FREQUENT, int((counts >= least).sum()))
    if not frequent:
        return _left_out(name, f"has {len(counts)} different texts, none of them often", refused)
    told = (
        f"{name}: of {len(counts)} different texts, the {frequent} most frequent in the training "
        "rows are categories, and the others together another"
    )
    return Categories(name, (), frequent), Note(told, refused)


def _left_out(name: str, cause: str, refused: str = "") -> Decision:
    cure = f"column {name!r} {cause}: leave it out with --drop {name!r}"
    return None, Note(f"{name}: left out, since it {cause}", refused or cure)
