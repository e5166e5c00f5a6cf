"""Records as flat fields, under their names in files and tables."""

import dataclasses
from collections.abc import Mapping
from itertools import chain
from typing import Any

from bnnbench.datasets.reading.shape import checks_of
from bnnbench.engine.records.record import Circumstances, Identity, Outcome, Record

_WRITTEN = {"strategy": "arm", "external": "elsewhere", "batch_dependence": "unsteady"}
"""Field → its name in files, if another."""


def _names(part: type) -> dict[str, str]:
    """Return field → its name in files."""
    return {f.name: _WRITTEN.get(f.name, f.name) for f in dataclasses.fields(part)}


_IDENTITY = _names(Identity)
_OUTCOME = _names(Outcome)
_CIRCUMSTANCES = _names(Circumstances)
_FIELDS = frozenset(chain(["cost"], *(p.values() for p in (_IDENTITY, _OUTCOME, _CIRCUMSTANCES))))


CHECKS = {
    name: checks_of(kind)[field]
    for kind, names in ((Identity, _IDENTITY), (Outcome, _OUTCOME), (Circumstances, _CIRCUMSTANCES))
    for field, name in names.items()
}
"""Name in files → the function that returns whether a value has the field's shape."""


def flattened(record: Record) -> dict[str, Any]:
    """Return the name of each field in files → its value."""
    parts = (record, _IDENTITY), (record.outcome, _OUTCOME), (record.circumstances, _CIRCUMSTANCES)
    flat = {name: getattr(part, field) for part, names in parts for field, name in names.items()}
    return flat | {"cost": record.cost}


def gathered(**fields: Any) -> Record:
    """Return the record with these fields; fields that are absent have their defaults.

    Raises TypeError for unknown names, and if a required field is absent.
    """
    if unknown := fields.keys() - _FIELDS:
        raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
    return Record(
        **_chosen(fields, _IDENTITY),
        outcome=Outcome(**_chosen(fields, _OUTCOME)),
        cost=fields["cost"],
        circumstances=Circumstances(**_chosen(fields, _CIRCUMSTANCES)),
    )


def _chosen(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {field: fields[name] for field, name in names.items() if name in fields}
