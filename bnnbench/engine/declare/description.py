"""The description of a run as canonical JSON; its hash is the run's name on disk."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bnnbench.engine.declare.names import name_of

NEWER = ("later", "earlier")
"""Metadata of fields added after some runs were stored (`methods.fitting.settings`)."""


@dataclass(frozen=True)
class Described:
    """A value of which only the description is known, as a record has it.

    It stands for the value wherever descriptions and keys are computed.
    """

    description: Mapping[str, object]

    def __hash__(self) -> int:
        return hash(digest(self.description))


def describe(value: object) -> object:
    """Return plain data that determines `value`; a dataclass is described by its registered name.

    Raises TypeError for values without a canonical form, such as functions.
    """
    if isinstance(value, Described):
        return describe(value.description)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        included = [f for f in dataclasses.fields(value) if not _left_out(f, value)]
        fields = {f.name: describe(getattr(value, f.name)) for f in included}
        return {"type": name_of(type(value))} | fields
    if isinstance(value, Mapping):
        return {str(name): describe(item) for name, item in value.items()}
    if isinstance(value, (tuple, list, range)):
        return [describe(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    raise TypeError(
        f"{value!r} of type {type(value).__name__} has no canonical description; settings are "
        "numbers, strings, tuples, mappings and frozen dataclasses of them (a custom class needs "
        "@dataclass(frozen=True) above it)"
    )


def _left_out(field: "dataclasses.Field[Any]", value: object) -> bool:
    """Return whether a field was added after some runs were stored and has their implied value."""
    before = field.metadata.get("earlier", field.default)
    return not field.metadata.keys().isdisjoint(NEWER) and getattr(value, field.name) == before


def implied_by(kind: type) -> dict[str, Any]:
    """Return a class's settings implied by a description without them, if not their defaults."""
    fields = dataclasses.fields(kind)
    return {f.name: f.metadata["earlier"] for f in fields if "earlier" in f.metadata}


def canonical_json(description: object) -> str:
    """Return the canonical JSON of a description."""
    return json.dumps(description, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(description: object) -> str:
    """Return 20 hexadecimal digits of the description's SHA-256."""
    return hashlib.sha256(canonical_json(description).encode()).hexdigest()[:20]
