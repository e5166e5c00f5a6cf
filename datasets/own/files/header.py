"""Whether the first record of a table names its columns or holds values as those below it do."""

import itertools
import re
from collections.abc import Sequence

from bnnbench.datasets.own.notes import Note, quoted

NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")

Fields = Sequence[str]


def holds_values(first: Fields, below: Sequence[Fields]) -> bool:
    """Return whether a record holds values: each field is like those below it.

    Places counted from 0 or 1 are names, as pandas writes them.
    """
    filled = [field for field in first if field]
    places = [[str(place + start) for place in range(len(filled))] for start in (0, 1)]
    if not below or len(first) < 2 or filled in places or 2 * len(filled) < len(first):
        return False
    columns = itertools.zip_longest(*below, fillvalue="")
    pairs = zip(first, columns, strict=False)  # a record below may be shorter or longer
    return all(_is_like(field, values) for field, values in pairs if field)


def numbered(first: Fields, title: str) -> tuple[tuple[str, ...], Note]:
    """Return names for columns without any, and a note on them."""
    cause = f"no names of columns, since its first line holds values ({quoted(first)})"
    told = f"the table has {cause}: they are called x1 to x{len(first)}"
    names = tuple(f"x{place}" for place in range(1, len(first) + 1))
    return names, Note(told, f"{title} has {cause}: put a line of names above it")


def from_comment(title: str) -> Note:
    """Return a note on names that stand in a comment."""
    refused = f"{title} has its names of columns in a comment: remove the mark before them"
    return Note("the names of the columns come from a comment", refused)


def on_lines(count: int, title: str) -> Note:
    """Return a note on lines above the names."""
    lines, them = ("a line", "it") if count == 1 else (f"{count} lines", "them")
    left_out = f"{lines} above the names of the columns, left out"
    return Note(left_out, f"{title} has {lines} above the names of its columns: remove {them}")


def _is_like(field: str, values: Fields) -> bool:
    """Return whether a field occurs among values, is a number as one is, or has a date's shape."""
    if NUMBER.fullmatch(field):
        return any(NUMBER.fullmatch(value) for value in values)
    shape = _shape(field)
    return field in values or ("9" in shape and any(_shape(value) == shape for value in values))


def _shape(text: str) -> str:
    return re.sub(r"\d", "9", text)
