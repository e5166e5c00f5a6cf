"""The layout of a text file: its separator, its names of columns, and the lines above them."""

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bnnbench.datasets.own.files.header import (
    Fields,
    from_comment,
    holds_values,
    numbered,
    on_lines,
)
from bnnbench.datasets.own.notes import Note

SEPARATORS = (",", ";", "\t", "|")
BLANKS = r"\s+"
"""Separator of columns that any number of blanks separates."""
COMMENTS = ("#", "%", "//")
MOST_RECORDS = 200
"""Maximum number of records by which a layout is recognised."""
AGREEMENT = 0.9
"""Minimum share of a table's records with the same number of fields."""


@dataclass(frozen=True)
class Layout:
    """How a text file is to be read."""

    separator: str = ","
    skipped: int = 0
    """Lines above the names, or above the first row if `names` are given."""
    names: tuple[str, ...] = ()
    """The names of the columns; empty if the file has them."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class _Record:
    fields: Sequence[str]
    end: int
    """The number of lines until its end."""

    @property
    def filled(self) -> int:
        return sum(map(bool, self.fields))


def layout_of(head: str, title: str) -> Layout:
    """Return the layout of a text that begins with `head`."""
    comments, above = _comments(head)
    body = "".join(head.splitlines(keepends=True)[above:])
    separator = _separator(body)
    records = list(_records(body, separator))
    if not records:
        return Layout()
    titles = _titles(records)
    skipped = above + (records[titles - 1].end if titles else 0)
    fields = [record.fields for record in records[titles:]]
    names, notes = _names(fields, comments, separator, title)
    if not names and len(fields[0]) == _width(records) - 1:
        names, skipped = _completed(fields), above + records[titles].end
    # A comment that gives the names is not left out.
    if left_out := len(comments) + titles - (from_comment(title) in notes):
        notes = (on_lines(left_out, title), *notes)
    return Layout(separator, skipped, names, notes)


def _names(
    fields: Sequence[Fields], comments: Sequence[str], separator: str, title: str
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return names for a table whose first line holds values; none if it holds names."""
    first, *below = fields
    if not holds_values(first, below):
        return (), ()
    above = comments[-1].lstrip("".join(COMMENTS)) if comments else ""
    given = next((record.fields for record in _records(above, separator)), ())
    if len(given) == len(first) and not holds_values(given, fields):
        return tuple(given), (from_comment(title),)
    names, note = numbered(first, title)
    return names, (note,)


def _comments(text: str) -> tuple[list[str], int]:
    """Return the comments at the top of a text, and how many lines they take with blank ones."""
    comments: list[str] = []
    for place, line in enumerate(text.splitlines()):
        if line.strip() and not line.lstrip().startswith(COMMENTS):
            return comments, place
        if line.strip():
            comments.append(line.strip())
    return [], 0


def _records(text: str, separator: str) -> Iterator[_Record]:
    """Yield the first records of a text that are not empty."""
    if separator == BLANKS:
        lines = enumerate(text.splitlines(), 1)
        records = (_Record(line.split(), number) for number, line in lines)
    else:
        reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        records = (_Record([f.strip() for f in fields], reader.line_num) for fields in reader)
    try:
        yield from itertools.islice((r for r in records if r.filled), MOST_RECORDS)
    except csv.Error:  # a field of more than 131,072 characters: the records before it suffice
        return


def _separator(text: str) -> str:
    """Return the separator that most records agree upon, from the first line on that has any.

    Decimal commas agree as separators do, but hold at most one comma for each field.
    """
    forms = {mark: form for mark in SEPARATORS if (form := _form(text, mark))}
    if not forms:
        return BLANKS if _form(text, BLANKS) else _widest(text)
    start = min(start for start, _ in forms.values())
    widths = {mark: width for mark, (first, width) in forms.items() if first == start}
    commas = widths.pop(",", 0)
    other = max(widths, key=lambda mark: widths[mark], default=",")
    return "," if commas > widths.get(other, 0) + 1 else other


def _form(text: str, separator: str) -> tuple[int, int] | None:
    """Return the first record with fields and their number; None if the records disagree."""
    counts = [len(record.fields) for record in _records(text, separator)]
    start = next((place for place, count in enumerate(counts) if count > 1), None)
    if start is None:
        return None
    width, agreeing = Counter(counts[start:]).most_common(1)[0]
    return (start, width) if width > 1 and agreeing >= AGREEMENT * len(counts[start:]) else None


def _widest(text: str) -> str:
    """Return the separator that gives most columns in the first line."""
    first = {mark: next(_records(text, mark), _Record((), 0)).fields for mark in SEPARATORS}
    return max(first, key=lambda mark: len(first[mark]))


def _titles(records: Sequence[_Record]) -> int:
    """Return how many records above the names are titles, with one field in place of several."""
    width = _width(records)
    if width < 2:
        return 0
    fitting = (k for k, record in enumerate(records) if len(record.fields) >= max(2, width - 1))
    return next((k for k in fitting if records[k].filled > 1 or width == 2), 0)


def _width(records: Sequence[_Record]) -> int:
    """Return the usual number of fields."""
    return Counter(len(record.fields) for record in records).most_common(1)[0][0]


def _completed(fields: Sequence[Fields]) -> tuple[str, ...]:
    """Return names of which one is lacking: the last if it has no values, or that of row names."""
    first, *below = fields
    last = [record[len(first)] for record in below if len(record) > len(first)]
    place = 0 if any(last) else len(first)
    names = [*first[:place], f"Unnamed: {place}", *first[place:]]
    return tuple(name or f"Unnamed: {k}" for k, name in enumerate(names))
