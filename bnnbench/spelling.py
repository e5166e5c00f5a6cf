"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'?" for the known name nearest to `name`; "" if none is near.

    Case is ignored.
    """
    spelled = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return f"did you mean {spelled[near[0]]!r}?" if near else ""
