"""Dates as numbers: days since 1970, with month, weekday and hour where they vary."""

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pandas as pd
from jaxtyping import Float
from pandas.api.types import is_datetime64_any_dtype

from bnnbench.datasets.own.columns.notation import Notation, stripped
from bnnbench.datasets.reading.columns import MISSING, BadTable

ISO, ISO_PATTERN = "ISO8601", r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?"
DAYS = (
    *(
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%d.%m.%Y",
        "%d.%m.%y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%m/%d/%y",
        "%d/%m/%y",
    ),
    *(
        "%m-%d-%Y",
        "%d-%m-%Y",
        "%d-%b-%Y",
        "%d-%b-%y",
        "%b-%d-%Y",
        "%d %b %Y",
        "%d %B %Y",
        "%b %d, %Y",
    ),
    *("%B %d, %Y", "%b %Y", "%B %Y", "%b-%Y", "%d%b%Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FORMATS = tuple(day + time for day in DAYS for time in TIMES)
FIRST_SEEN = 20
"""Number of texts that a format must read before it is tried on all."""
DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Dates:
    """A column of dates, with a feature for each part."""

    name: str
    format: str = ""
    """As for strptime, or ISO8601; "" for a column that holds no texts."""
    parts: tuple[str, ...] = ("days",)
    fills: tuple[float, ...] = ()
    """The medians of the training rows, for missing dates."""
    marked: bool = False
    """Whether any row of the file lacks a date."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{self.name} {part}" for part in (*self.parts, *[MISSING] * self.marked))

    def fitted(self, column: pd.Series) -> "Dates":
        """Return the column with the fill values of these training rows."""
        parts = _parts(self.read(column), self.parts)
        known = parts[~np.isnan(parts[:, 0])]
        fills = np.median(known, 0) if len(known) else np.zeros(len(self.parts))
        return replace(self, fills=tuple(map(float, fills)))

    def values(self, column: pd.Series) -> Float[np.ndarray, "rows features"]:
        """Return the features of a column; raises `BadTable` for texts that are no dates."""
        parts = _parts(self.read(column), self.parts)
        gaps = np.isnan(parts[:, :1])
        filled = np.where(gaps, np.array(self.fills), parts)
        return np.hstack([filled, gaps * 1.0]) if self.marked else filled

    def read(self, column: pd.Series) -> pd.DatetimeIndex:
        """Return the dates of a column."""
        if is_datetime64_any_dtype(column):
            return _without_zone(pd.DatetimeIndex(column))
        texts = stripped(column)
        texts = texts.mask(Notation().is_gap(texts))
        dates = _parsed(texts, self.format or ISO)
        if strange := [text for text in texts[dates.isna()] if not pd.isna(text)]:
            raise BadTable(f"column {self.name!r} needs dates; got {str(strange[0])[:60]!r}")
        return dates


def formats_of(column: pd.Series) -> list[str]:
    """Return the formats that read every text of a column, in the order of preference."""
    unique = pd.Series(stripped(column).dropna().unique(), dtype="string")
    texts = unique.mask(Notation().is_gap(unique)).dropna()
    if not len(texts) or not texts.str.contains(r"\d").all():
        return []
    candidates = [ISO] if texts.str.fullmatch(ISO_PATTERN).all() else _plausible(texts)
    return [form for form in candidates if not _parsed(texts, form).isna().any()]


def with_parts(dates: Dates, column: pd.Series) -> Dates:
    """Return the column with the parts that vary in it."""
    read = dates.read(column)
    known = read[~read.isna()]
    day, clock = known.day.nunique() > 1, (known - known.normalize()).nunique() > 1
    varying = {"month": known.month.nunique() > 1, "weekday": day, "hour": clock}
    parts = ("days", *(part for part, varies in varying.items() if varies))
    return replace(dates, parts=parts, marked=len(known) < len(read))


def _plausible(texts: pd.Series) -> list[str]:
    first = [str(text) for text in texts[:FIRST_SEEN]]
    return [form for form in FORMATS if all(_reads(form, text) for text in first)]


def _reads(form: str, text: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _parsed(texts: pd.Series, form: str) -> pd.DatetimeIndex:
    """Return the dates of texts, NaT for texts in another format."""
    unique = texts.dropna().unique()
    read = pd.to_datetime(pd.Series(unique, dtype="string"), format=form, errors="coerce", utc=True)
    return _without_zone(pd.DatetimeIndex(texts.map(dict(zip(unique, read, strict=True)))))


def _without_zone(dates: pd.DatetimeIndex) -> pd.DatetimeIndex:
    return dates if dates.tz is None else dates.tz_convert(None)


def _parts(dates: pd.DatetimeIndex, parts: tuple[str, ...]) -> Float[np.ndarray, "rows parts"]:
    """Return the parts of dates; NaN for missing dates."""
    by_part = {
        "days": (dates - pd.Timestamp(0)) / DAY,
        "month": dates.month,
        "weekday": dates.day_of_week,
        "hour": (dates - dates.normalize()) / np.timedelta64(1, "h"),
    }
    values = np.column_stack([np.asarray(by_part[part], np.float64) for part in parts])
    return np.where(np.asarray(dates.isna())[:, None], np.nan, values)
