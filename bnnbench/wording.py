"""The wording of messages: counts, lists, suggestions for misspelt names, usage errors."""

import difflib
from collections.abc import Iterable

_PLURALS = {"is": "are", "was": "were", "has": "have"}


class UsageError(ValueError):
    """The command line names something that does not exist; the message lists what exists."""


class UnknownMethod(UsageError):
    """There is no method named `name`."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(nearest(name, known))
        self.name = name


def counted(count: int, noun: str = "run", verb: str = "") -> str:
    """Return a count with its noun, and with a verb if one is given by its singular."""
    verb = verb if count == 1 else _PLURALS.get(verb, verb)
    return f"{count} {noun}{'s' * (count != 1)}{f' {verb}' if verb else ''}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'?" for the known name nearest to `name`; "" if none is near.

    Case is ignored.
    """
    spelled = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return f"did you mean {spelled[near[0]]!r}?" if near else ""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a message that `name` is unknown, with the nearest name and all known ones."""
    known = sorted({name.casefold(): name for name in names}.values())
    hint = did_you_mean(name, known)
    return f"{name!r} is unknown{hint and f', {hint}'}; known are {listed(known)}"


def listed(names: Iterable[str], last_word: str = "and") -> str:
    """Return names in running text: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} {last_word} {last}" if first else last
