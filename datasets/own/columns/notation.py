"""Numbers as people write them: separators of thousands, decimal commas, currencies, gaps.

Texts of digits with leading zeros are codes, not numbers.
"""

import re
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bnnbench.datasets.own.notes import Note
from bnnbench.datasets.reading.columns import numbers_of

GAPS = (
    *("", "?", "-", "--", "---", ".", "..", "...", "*", "\u2013", "\u2014"),
    *("na", "n/a", "#n/a", "n.a.", "n.a", "n/k", "nk", "nan", "none", "null", "nil", "(null)"),
    *("missing", "unknown", "not available", "undefined", "tba", "#value!", "#div/0!", "#ref!"),
)
"""Texts that stand for a missing number, in lower case."""
SPACES = " \u00a0\u202f\u2009"


@dataclass(frozen=True)
class Notation:
    """A way of writing numbers as texts."""

    decimal: str = "."
    thousands: str = ""
    """Characters that separate thousands; "" without any."""
    unit: str = ""
    """A currency, or the sign of percent, left out before or after the number."""
    gaps: tuple[str, ...] = ()
    """Texts that count as missing, besides `GAPS`."""
    parentheses: bool = False
    """True if numbers in parentheses are negative, as in accounts."""

    def numbers(self, column: pd.Series) -> np.ndarray:
        """Return a column's numbers, NaN for missing ones; raises `BadTable` for other texts."""
        if is_numeric_dtype(column) or is_bool_dtype(column):
            return numbers_of(column)
        is_real = reals_in(column)
        texts = stripped(column.mask(is_real))
        read = texts.mask(self.reads(texts), self.bare(texts)).astype(object)
        read = read.mask(self.is_gap(texts), None).mask(is_real, column)
        return numbers_of(read.rename(column.name))

    def is_gap(self, texts: pd.Series) -> pd.Series:
        """Return which texts count as missing."""
        return texts.isna() | texts.str.lower().isin(GAPS) | texts.isin(self.gaps)

    def reads(self, texts: pd.Series) -> pd.Series:
        """Return which texts are numbers in this notation."""
        return texts.str.fullmatch(self.pattern).fillna(False).astype(bool)

    @property
    def pattern(self) -> str:
        """The regular expression of a number."""
        point = re.escape(self.decimal)
        whole = r"\d+"
        if self.thousands:
            whole = rf"[1-9]\d{{0,2}}(?:[{re.escape(self.thousands)}]\d{{3}})+|\d+"
        number = rf"(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?"
        if not self.unit:
            return self._also_in_parentheses(rf"[-+]?{number}", number)
        unit = rf"(?:{re.escape(self.unit)})?[{SPACES}]*"
        bare = rf"{unit}{number}[{SPACES}]*{unit}"
        return self._also_in_parentheses(rf"{unit}[-+]?{bare}", bare)

    def bare(self, texts: pd.Series) -> pd.Series:
        """Return texts as Python writes numbers."""
        ignored = self.thousands + (SPACES if self.unit else "")
        marks = str.maketrans({**dict.fromkeys(ignored, ""), self.decimal: "."})
        plain = texts.str.replace(self.unit, "", regex=False).str.translate(marks)
        return plain.str.replace(r"\((.*)\)", r"-\1", regex=True) if self.parentheses else plain

    def _also_in_parentheses(self, number: str, bare: str) -> str:
        return rf"{number}|\({bare}\)" if self.parentheses else number


def reals_in(column: pd.Series) -> pd.Series:
    """Return which cells of a column of objects are numbers, not texts."""
    if column.dtype != object:
        return pd.Series(False, column.index)
    are_real = column.map(lambda cell: isinstance(cell, Real) and not isinstance(cell, bool))
    return are_real.astype(bool) & column.notna()


def stripped(column: pd.Series) -> pd.Series:
    """Return a column's texts without blanks around them; the sign minus is a hyphen."""
    texts = column.astype("string").str.strip()
    return texts.str.replace("^\u2212", "-", regex=True)


LEADING_ZERO = r"0\d+"


def are_codes(texts: pd.Series) -> bool:
    """Return whether digits are codes: some begin with zeros, by which texts differ or are aligned.

    Zeros tell codes if all texts have one length, most begin with one, or two texts are one number.
    """
    unique = pd.Series(texts.dropna().unique(), dtype="string")
    if not len(unique) or not unique.str.fullmatch(r"\d+").all():
        return False
    has_zero = unique.str.fullmatch(LEADING_ZERO)
    if not has_zero.any():
        return False
    are_aligned = unique.str.len().nunique() == 1
    return bool(are_aligned or 2 * has_zero.sum() > len(unique) or _are_merged(unique))


def on_codes(name: str, texts: pd.Series) -> Note:
    """Return a note on codes, which are no numbers."""
    example = next(text for text in texts if str(text).startswith("0"))
    cause = f"leading zeros, such as in {example!r}"
    cure = "write numbers without them, or texts with a letter"
    return Note(f"{name}: {cause}: its values are texts", f"column {name!r} has {cause}: {cure}")


def _are_merged(unique: pd.Series) -> bool:
    """Return whether different texts are the same number."""
    return bool(unique.str.lstrip("0").duplicated().any())
