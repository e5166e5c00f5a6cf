"""Command-line mistakes, and suggestions for misspelt names."""

from collections.abc import Iterable

from bnnbench.spelling import did_you_mean


class UsageError(ValueError):
    """The command line names something that does not exist; the message lists what exists."""


class UnknownMethod(UsageError):
    """There is no method named `name`."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(nearest(name, known))
        self.name = name


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a message that `name` is unknown, with the nearest name and all known ones."""
    known = sorted({name.casefold(): name for name in names}.values())
    hint = did_you_mean(name, known)
    return f"{name!r} is unknown{hint and f', {hint}'}; known are {listed(known)}"


def listed(names: Iterable[str], last_word: str = "and") -> str:
    """Return names in running text: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} {last_word} {last}" if first else last
