"""The settings of a run, and which of them differ from the defaults of their classes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from bnnbench.commands.method_settings.labels import differences
from bnnbench.reports.style.descriptions import flatten

UNUSABLE = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, RecursionError),
)
"""Errors that a class raises for settings of another version or of a damaged record."""


@dataclass(frozen=True)
class Setting:
    """A setting by its path, such as `training.epochs`."""

    path: str
    value: str
    differs: bool | None
    """True if it differs from the default of its class, or has none; None where the class is not
    at hand or takes other settings today.
    """


def chosen_settings(description: object) -> tuple[Setting, ...]:
    """Return the settings of a method, from its description in a record."""
    from bnnbench.engine.store.rebuilding import rebuilt  # needs torch

    flat = flatten(description)
    if not isinstance(description, Mapping):
        return ()
    try:
        paths = set(_differing(rebuilt(description)))
    except UNUSABLE:
        return tuple(Setting(path, text, None) for path, text in flat.items())
    return tuple(Setting(path, text, path in paths) for path, text in flat.items())


def _differing(value: Any, prefix: str = "") -> Iterator[str]:
    """Yield the paths of settings that differ from the defaults of the class they belong to.

    A method inside of another is compared with its own defaults, where it is of another class than
    the default or there is none.
    """
    for path, new in differences(value).items():
        yield prefix + path
        if is_dataclass(new):
            yield from _differing(new, f"{prefix}{path}.")
