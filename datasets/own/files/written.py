"""Columns of a text file whose texts say more than the numbers or gaps that are read from them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bnnbench.datasets.own.columns.notation import are_codes
from bnnbench.datasets.own.columns.numerals import commas_in
from bnnbench.datasets.own.notes import Note, Sheet
from bnnbench.datasets.reading.columns import column_of

GROUPED, SHORT = r"[-+]?[1-9]\d{0,2}\.\d{3}", r"[-+]?\d{1,3}"
"""Numbers with a point before three digits, and without any point, if points mark thousands."""
LARGEST_GROUP = 1000
LEADING_ZERO = re.compile(rb"""[,;|\t\n\r "'\0]0\0?\d""")

Written = Callable[[Sequence[str]], pd.DataFrame]
"""Names of columns → these columns as texts; only empty cells are gaps."""


def settled(sheet: Sheet, written: Written, texts: Sequence[str], has_zeros: bool) -> Sheet:
    """Return a sheet with texts in place of codes, and of numbers whose points mark thousands.

    The columns `texts` are texts already; `has_zeros` says whether the file may have leading zeros.
    """
    columns = [column_of(sheet.frame, n) for n in sheet.frame.columns if n not in texts]
    others = [column for column in columns if not is_numeric_dtype(column)]
    numbers = [c for c in columns if is_numeric_dtype(c) and not is_bool_dtype(c)]
    grouped = [str(c.name) for c in numbers if sheet.separator != "," and _may_be_grouped(c)]
    padded = [str(c.name) for c in numbers if has_zeros and (c.dropna() % 1 == 0).all()]
    gappy = [str(column.name) for column in others if column.isna().any()]
    names = list(dict.fromkeys((*grouped, *padded, *gappy)))
    if not names:
        return sheet
    return _Found(sheet, written(names)).with_codes(padded).with_points(grouped).with_words(gappy)


@dataclass(frozen=True)
class _Found:
    sheet: Sheet
    written: pd.DataFrame

    def with_codes(self, names: Sequence[str]) -> "_Found":
        """Return the sheet with texts in place of codes."""
        codes = [name for name in names if are_codes(self._texts(name))]
        return replace(self, sheet=self._with_texts(codes))

    def with_points(self, names: Sequence[str]) -> "_Found":
        """Return the sheet with texts in place of numbers whose points mark thousands."""
        frame = self.sheet.frame
        names = [name for name in names if _are_grouped(self._texts(name))]
        others = [column_of(frame, name) for name in frame.columns if name not in names]
        commas = commas_in([c for c in others if not is_numeric_dtype(c)], "unknown")
        has_points = any(is_numeric_dtype(c) and (c.dropna() % 1 != 0).any() for c in others)
        if commas == "decimals" and not has_points:
            return replace(self, sheet=self._with_texts(names))
        if has_points and commas != "decimals":
            return self
        notes = [_on_points(name, self._texts(name)) for name in names]
        return replace(self, sheet=replace(self.sheet, notes=(*self.sheet.notes, *notes)))

    def with_words(self, names: Sequence[str]) -> Sheet:
        """Return the sheet with columns of texts in which words such as "None" are no gaps."""
        return replace(self.sheet, gappy={name: column_of(self.written, name) for name in names})

    def _texts(self, name: str) -> pd.Series:
        is_known = column_of(self.sheet.frame, name).notna().to_numpy()
        return column_of(self.written, name).loc[is_known].str.strip()

    def _with_texts(self, names: Sequence[str]) -> Sheet:
        frame = self.sheet.frame
        texts = {n: column_of(self.written, n).where(frame[n].notna(), None) for n in names}
        return replace(self.sheet, frame=frame.assign(**texts)) if texts else self.sheet


def _may_be_grouped(column: pd.Series) -> bool:
    """Return whether numbers may have been written with points before three digits."""
    if column.dtype.kind != "f":
        return False
    values = np.abs(column.dropna().to_numpy(float))
    thousandfold = values * LARGEST_GROUP
    is_near = np.isclose(thousandfold, np.round(thousandfold), rtol=0, atol=1e-6)
    return bool(is_near.all() and (values < LARGEST_GROUP).all())


def _are_grouped(texts: pd.Series) -> bool:
    """Return whether points may mark thousands in all texts, and do so in one."""
    has_point = texts.str.contains(".", regex=False)
    fits = texts.str.fullmatch(GROUPED) | texts.str.fullmatch(SHORT)
    return bool(has_point.any() and fits.all())


def _on_points(name: str, texts: pd.Series) -> Note:
    example = next(text for text in texts if "." in text)
    cause = f"ambiguous points, such as in {example!r} (decimals or thousands)"
    told = f"{name}: {cause}, are read as decimal points"
    cure = "write no separator for thousands, or use commas between the columns"
    return Note(told, f"column {name!r} has {cause}: {cure}")
