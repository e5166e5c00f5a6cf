"""Mistakes on the command line, and the names that were probably meant."""

import difflib
from collections.abc import Iterable


class UsageError(ValueError):
    """The command line asks for something that does not exist; the message says what exists."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a message that `name` is unknown, with the nearest name and all that exist."""
    spelled = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), spelled, n=1)
    hint = f", did you mean {spelled[close[0]]!r}?" if close else ""
    return f"{name!r} is unknown{hint}; known are {listed(sorted(spelled.values()))}"


def listed(names: Iterable[str], last_word: str = "and") -> str:
    """Return names in running text: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} {last_word} {last}" if first else last
