"""Checks of a method's settings at construction."""

import math
from collections.abc import Collection

LATER = {"later": True}
"""Metadata of a setting that is newer than stored runs.

Its default is the behaviour without the setting and does not enter a run's description, so that the
keys of stored runs stay. If the default is another behaviour, the metadata is `earlier(value)`,
where the value stands for the behaviour without the setting.
"""


def earlier(value: object) -> dict[str, object]:
    """Return the metadata of a newer setting, with the value that applies to stored runs."""
    return {"earlier": value}


def require_positive(method: object, *names: str) -> None:
    """Raise ValueError unless the named settings are positive, finite numbers."""
    for name in names:
        value = getattr(method, name)
        _require(0 < value < math.inf, method, f"{name} to be positive and finite", value)


def require_count(method: object, *names: str, least: int = 1) -> None:
    """Raise ValueError unless the named settings are integers of at least `least`."""
    for name in names:
        value = getattr(method, name)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        _require(is_whole and value >= least, method, f"{name} to be an integer >= {least}", value)


def require_between(method: object, low: float, high: float, *names: str) -> None:
    """Raise ValueError unless low <= setting < high."""
    for name in names:
        value = getattr(method, name)
        _require(low <= value < high, method, f"{name} in [{low}, {high})", value)


def require_choice(method: object, name: str, choices: Collection[str]) -> None:
    """Raise ValueError unless the named setting is one of the choices."""
    value = getattr(method, name)
    _require(value in choices, method, f"{name} out of {', '.join(choices)}", value)


def _require(holds: bool, method: object, needed: str, given: object) -> None:
    if not holds:
        raise ValueError(f"{type(method).__name__} needs {needed}; got {given!r}")
