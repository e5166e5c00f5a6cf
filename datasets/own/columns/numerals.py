"""Which notation of numbers a column of texts is in, if it is in one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from bnnbench.datasets.own.columns.notation import SPACES, Notation, reals_in, stripped
from bnnbench.datasets.own.notes import Note, quoted
from bnnbench.datasets.reading.columns import MOST_CLASSES, BadTable

CURRENCIES = ("$", "€", "£", "¥", "₹", "₽", "₩", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR")
PERCENT = "%"
MOST_GAPS = 0.5
"""Maximum share of texts for missing numbers in a column of numbers."""
MOST_STRANGERS = 0.05
"""Maximum share of other texts in a column of numbers, which then count as missing."""

PLAIN, THOUSANDS, DECIMALS = Notation(), Notation(".", ","), Notation(",")
GROUPS = Notation(",", ".")
PARENTHESES = r"\([^a-zA-Z()]*\d[^a-zA-Z()]*\)"
"""A text that may be a negative number in accounts."""
GROUPED = r".*[1-9]\d{0,2}\.\d{3}(?!\d).*"
"""A text in which a point may mark thousands."""
NOTATIONS = (
    *(PLAIN, THOUSANDS, DECIMALS, GROUPS),
    *(Notation(point, mark) for point in ".," for mark in (SPACES, "'\u2019")),
)
"""The notations, in the order in which they are tried."""

Commas = Literal["thousands", "decimals", "unknown"]
"""The meaning of a comma before three digits, if nothing else in the column decides it."""
MEANINGS: tuple[Commas, ...] = ("thousands", "decimals")


@dataclass(frozen=True)
class Numerals:
    """The texts of a column that is in a notation."""

    notation: Notation
    example: str
    """A text that is not a number in Python; "" if there is none."""
    gaps: tuple[str, ...]
    """Different texts for missing numbers."""
    strangers: tuple[str, ...]
    """Different texts that are neither numbers nor known to stand for missing ones."""
    left_out: int
    """The number of rows with any of these texts."""
    rows: int
    """The number of rows with a text."""


def numerals_of(column: pd.Series, commas: Commas = "thousands") -> Numerals | None:
    """Return the notation of a column of texts; None if most of them are not numbers.

    Beside cells that are numbers with fractions, a comma before three digits is ambiguous.
    Raises `BadTable`, without the column's name, if a comma could separate decimals or thousands,
    and `commas` is unknown.
    """
    is_real = reals_in(column)
    reals, kinds = int(is_real.sum()), int(column.loc[is_real].nunique())
    counts = stripped(column.loc[~is_real]).value_counts().drop("", errors="ignore")
    texts = pd.Series(counts.index, dtype="string")
    is_gap = PLAIN.is_gap(texts).to_numpy(bool)
    values, rows = texts.mask(is_gap).dropna(), counts.to_numpy()
    together = int(rows.sum()) + reals
    if not len(values) + reals or rows[is_gap].sum() > MOST_GAPS * together:
        return None
    if 2 * (values.str.contains(r"\d").sum() + kinds) < len(values) + kinds:
        return None  # the usual case of texts, at less cost
    if commas == "thousands" and _have_fractions(column.loc[is_real]):
        commas = "unknown"
    best, misread = _best(values, rows[~is_gap], _unit(values), commas)
    strange = int(rows[~is_gap][misread].sum())
    _require_one_notation(values, misread, 2 * strange < together)
    few = len(values) + kinds <= MOST_CLASSES
    if strange > MOST_STRANGERS * together or (strange and few):
        return None
    strangers = tuple(values[misread])
    read = values.loc[~misread]
    odd = _beyond(PLAIN, read) or _beyond(Notation(best.decimal), read)
    left_out = int(rows[is_gap].sum()) + strange
    gaps, notation = tuple(texts[is_gap]), replace(best, gaps=strangers)
    return Numerals(notation, odd[0] if odd else "", gaps, strangers, left_out, together)


def _have_fractions(reals: pd.Series) -> bool:
    return bool((reals.astype(float) % 1 != 0).any())


def _beyond(notation: Notation, values: pd.Series) -> list[str]:
    return [*values[~notation.reads(values).to_numpy(bool)]]


def _require_one_notation(values: pd.Series, misread: np.ndarray, are_few: bool) -> None:
    """Raise `BadTable` if a few texts are numbers in another notation than the others."""
    if not are_few or not misread.any() or misread.all():
        return
    others = values.loc[misread]
    is_number = np.any([notation.reads(others).to_numpy(bool) for notation in NOTATIONS], 0)
    if is_number.any():
        usual, other = next(iter(values[~misread])), next(iter(others[is_number]))
        raise BadTable(
            f"has numbers in several notations, such as {usual!r} and {other!r}: write all of them "
            "with decimal points, and without separators of thousands"
        )


def _best(
    values: pd.Series, rows: np.ndarray, unit: str, commas: Commas
) -> tuple[Notation, np.ndarray]:
    """Return the notation in which most rows are numbers, and the values that are none in it."""
    in_parentheses = values.str.fullmatch(PARENTHESES)
    negatives = bool(in_parentheses.any() and not in_parentheses.all())
    notations = [replace(n, unit=unit, parentheses=negatives) for n in NOTATIONS]
    misread = {n: ~n.reads(values).to_numpy(bool) for n in notations}
    strange = {notation: rows[missed].sum() for notation, missed in misread.items()}
    best = min(notations, key=lambda notation: strange[notation])
    thousands, decimals, points = (
        replace(n, unit=unit, parentheses=negatives) for n in (THOUSANDS, DECIMALS, GROUPS)
    )
    if best == thousands and strange[decimals] == strange[best]:
        best = decimals if _are_decimals(commas, values) else thousands
    if commas == "decimals" and values.str.fullmatch(GROUPED).any():
        best = points if strange[points] == strange[best] else best
    return best, misread[best]


def commas_in(columns: Sequence[pd.Series], otherwise: Commas) -> Commas:
    """Return what commas before three digits mean, if any column shows it by other numbers."""
    if otherwise != "unknown":
        return otherwise
    for column in columns:
        try:
            first, second = (numerals_of(column, meaning) for meaning in MEANINGS)
        except BadTable:  # told where the column is used
            continue
        if first is None or first != second:
            continue
        if "," in first.example or first.notation.thousands == ".":
            return "decimals" if first.notation.decimal == "," else "thousands"
    return otherwise


def note_on(numerals: Numerals, name: str, *, is_target: bool, is_decimal: bool) -> Note | None:
    """Return a note on a column of texts that are numbers.

    None if all that a reader could wonder about is decimal commas where `is_decimal` expects them.
    """
    plain = replace(numerals.notation, gaps=())
    marks = (*numerals.gaps, *numerals.strangers)
    if plain == DECIMALS and is_decimal and not marks:
        return None
    told = [] if plain == PLAIN else [_of_notation(plain, numerals.example)]
    if marks:
        where = f"in {numerals.left_out} of {numerals.rows} rows"
        told.append(f"{quoted(marks)} {where} counts as missing")
    subject = f"the target {name!r}" if is_target else f"column {name!r}"
    done = "; ".join(told) or "numbers that are stored as texts"
    return Note(f"{name}: {done}", f"{subject} {_refused(numerals, is_target)}")


def _of_notation(notation: Notation, example: str) -> str:
    points = "a decimal comma" * (notation.decimal == ",")
    thousands = "a separator of thousands" * bool(notation.thousands)
    unit = f"the unit {notation.unit}" * bool(notation.unit)
    negatives = "negative numbers in parentheses" * notation.parentheses
    parts = " and ".join(filter(None, (points, thousands, unit, negatives)))
    return f"numbers with {parts}, such as {example!r}"


def _refused(numerals: Numerals, is_target: bool) -> str:
    notation, example = numerals.notation, numerals.example
    if marks := (*numerals.gaps, *numerals.strangers):
        shown = ", ".join(map(repr, marks[:3]))
        where = f"in {numerals.left_out} of {numerals.rows} rows"
        cure = "write numbers or nothing there"
        cure = "write numbers there, or leave these rows out" if is_target else cure
        return f"has numbers but for {shown} {where}: {cure}"
    if notation == PLAIN:
        return "has numbers that are stored as texts: store them as numbers"
    if notation == DECIMALS:
        return f"has numbers with a decimal comma, such as {example!r}: write points"
    if notation == THOUSANDS:
        return (
            f"has ambiguous commas, such as in {example!r} (decimals or thousands): write decimal "
            "points, and no separator for thousands"
        )
    return f"has {_of_notation(notation, example)}: write plain numbers"


def _unit(values: pd.Series) -> str:
    """Return the currency of some values, or the sign of percent of all; "" without either."""
    units = [unit for unit in CURRENCIES if values.str.contains(re.escape(unit)).any()]
    if len(units) == 1:
        return units[0]
    return PERCENT if len(values) and values.str.contains(PERCENT).all() else ""


def _are_decimals(commas: Commas, values: pd.Series) -> bool:
    """Return whether a comma before three digits separates decimals."""
    if commas == "unknown":
        example = next(text for text in values if "," in text)
        raise BadTable(
            f"has ambiguous commas, such as in {example!r} (decimals or thousands): write decimal "
            "points, and no separator for thousands"
        )
    return commas == "decimals"
