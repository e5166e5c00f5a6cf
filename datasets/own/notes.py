"""Decisions about a table that are reported, or refused with `--strict`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.third_party_text import shortened

LONGEST = 60
"""Maximum number of characters of a value that a sentence quotes."""


@dataclass(frozen=True)
class Note:
    """A decision as a sentence, and as the error that a strict reading raises in its place."""

    done: str
    refused: str


@dataclass(frozen=True)
class Sheet:
    """A file's table as it was read, before any column is interpreted."""

    frame: pd.DataFrame
    notes: tuple[Note, ...] = ()
    separator: str = ""
    """The separator of a text file's columns."""
    gappy: Mapping[str, pd.Series] = field(default_factory=dict)
    """A text file's columns of texts with gaps → the same in which only empty cells are gaps."""


def require_none(notes: Sequence[Note]) -> None:
    """Raise `BadTable` with the cause and cure of the first note."""
    if notes:
        raise BadTable(notes[0].refused)


def quoted(values: Iterable[object], most: int = 3) -> str:
    """Return the first values in quotes, with the number of the others."""
    shown = [repr(shortened(str(value), LONGEST)) for value in values]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
