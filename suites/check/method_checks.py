"""Checks of a method without a fit: its settings are plain data."""

import dataclasses
import json
import pickle
from typing import Any

from bnnbench.engine.declare import names
from bnnbench.engine.declare.description import canonical_json, describe, implied_by
from bnnbench.methods.tuning.space import Space, configured, setting
from bnnbench.suites.check.fits import Broken, require

PLAIN = {spelled: kind for kind in (int, float, bool, str) for spelled in (kind, kind.__name__)}
"""Annotation of a setting, as a type or as its name → the type."""


def has_plain_settings(method: Any) -> None:
    """The method's settings are plain data that describe it completely."""
    require(
        dataclasses.is_dataclass(method),
        "it is not a dataclass: write @dataclass(frozen=True) above the class",
    )
    frozen = type(method).__dataclass_params__.frozen
    require(frozen, "it is mutable: write @dataclass(frozen=True) above the class")
    try:
        description = describe(method)
    except TypeError as error:
        raise Broken(str(error)) from error
    require(json.loads(canonical_json(description)) == description, "settings do not survive JSON")
    require(
        rebuilt(description) == method,
        "a method rebuilt from its recorded settings is not equal to it: use only numbers, "
        "strings, tuples and frozen dataclasses as settings; derive everything else in methods",
    )


def has_settings_of_their_types(method: Any) -> None:
    """The method's settings, and its search space, have values of the declared types."""
    if not dataclasses.is_dataclass(method):
        return
    for field in dataclasses.fields(method):
        kind, value = PLAIN.get(field.type), getattr(method, field.name)
        if kind is not None:
            allowed = (int, float) if kind is float else kind
            fits = isinstance(value, allowed) and (kind is bool or not isinstance(value, bool))
            declared = f"the setting {field.name} is declared as {kind.__name__}"
            require(fits, f"{declared}, and is {value!r}")
    space = getattr(method, "space", None)
    if not isinstance(space, Space):
        return
    for path, law in space.fields.items():
        for value in (law.at(0.0), law.at(0.5)):
            try:
                configured(method, {path: value})
                whole = isinstance(setting(method, path), int)
            except (Exception, SystemExit) as error:
                raise Broken(f"its space has {path} = {value!r}, which fails: {error}") from error
            cure = f"its space has {path} = {value!r}, not an integer: use Integers or Choice"
            require(not (whole and isinstance(value, float)), cure)


def travels(method: Any) -> None:
    """The method compares, hashes, prints and can be sent to other processes."""
    twin = pickle.loads(pickle.dumps(method))
    require(twin == method, "its pickled copy is not equal to it")
    require(hash(twin) == hash(method), "its pickled copy has another hash")
    kinds = {type(one).__name__: type(one) for one in nested(method)}
    constants = {"inf": float("inf"), "nan": float("nan")}
    require(eval(repr(method), kinds | constants) == method, f"it differs from its repr: {method}")


def rebuilt(description: Any) -> Any:
    """Return the value described by a description."""
    if isinstance(description, list):
        return tuple(map(rebuilt, description))
    if not isinstance(description, dict):
        return description
    fields = {name: rebuilt(value) for name, value in description.items() if name != "type"}
    kind = names.kind_of(description["type"])
    return kind(**implied_by(kind) | fields)


def nested(method: Any) -> list[Any]:
    """Return a dataclass instance and all dataclass instances that it contains."""
    fields = [getattr(method, field.name) for field in dataclasses.fields(method)]
    values = [v for value in fields for v in (value if isinstance(value, tuple) else (value,))]
    inner = (v for value in values if dataclasses.is_dataclass(value) for v in nested(value))
    return [method, *inner]
