"""The settings of a run, and which of them differ from the defaults of their classes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from bnnbench.engine.method_settings.labels import differences
from bnnbench.reports.style.descriptions import flatten

UNUSABLE = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, RecursionError),
)
"""Errors that a class raises for settings of another version or of a damaged record."""


@dataclass(frozen=True)
class Setting:
    """A setting, named by its path, such as `training.epochs`."""

    path: str
    value: str
    differs: bool | None
    """True if it differs from its class's default, or has no default; None if the class is
    unavailable or now takes other settings.
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
    """Yield the paths of settings that differ from the defaults of their class.

    An inner method is compared with its own class's defaults if the outer default has another class
    or is absent.
    """
    for path, new in differences(value).items():
        yield prefix + path
        if is_dataclass(new):
            yield from _differing(new, f"{prefix}{path}.")
