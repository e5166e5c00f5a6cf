"""Methods with settings for a quick fit."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bnnbench.methods.message_passing.schedule import Coupled

SMALL: dict[str, Any] = {
    **{"evidence_updates": 3, "epochs": 2, "trials": 2, "batch_size": 16, "draws": 3, "size": 2},
    **{"chains": 3, "warmup": 24, "leapfrog_steps": 3, "iterations": (1, 2), "start": 0.0},
    **{"trees": 20, "most_trees": 20, "patience": 5},
    **{"schedule": Coupled(8, solver_iterations=2), "lengths": (1, 2), "level": 0.5, "every": 1},
}
"""Setting → a small value, which replaces only values of the same type."""


def small(method: Any, settings: Mapping[str, Any] = SMALL) -> Any:
    """Return the method with small settings, including the methods that it contains."""
    changes = {
        field.name: settings[field.name] if named else small(value, settings)
        for field in dataclasses.fields(method)
        if (named := _is_named(value := getattr(method, field.name), field.name, settings))
        or dataclasses.is_dataclass(value)
    }
    return dataclasses.replace(method, **changes)


def quick(method: Any) -> Any:
    """Return the method with small settings, or unchanged if it rejects them."""
    try:
        return small(method)
    except (TypeError, ValueError):
        return method


def _is_named(value: object, name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether `settings` has this name with a value of the same type."""
    if name not in settings:
        return False
    kinds = {_is_number(value), _is_number(settings[name])}
    return kinds == {True} or type(value) is type(settings[name])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
