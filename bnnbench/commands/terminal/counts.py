"""Counts in sentences: "1 run is", "12 runs are"."""

_PLURALS = {"is": "are", "was": "were", "has": "have"}


def counted(count: int, noun: str = "run", verb: str = "") -> str:
    """Return a count with its noun, and with a verb if one is given by its singular."""
    verb = verb if count == 1 else _PLURALS.get(verb, verb)
    return f"{count} {noun}{'s' * (count != 1)}{f' {verb}' if verb else ''}"
