"""What is kept of a run: status, scores, cost, diagnostics, provenance."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

SCHEMA = 1

Status = Literal["completed", "diverged", "failed"]


@dataclass(frozen=True)
class Cost:
    """What a run took. Runs that were fitted together share time and memory equally."""

    fit_seconds: float
    predict_seconds: float
    peak_bytes: float
    """Growth of resident memory while fitting; on a GPU, the most that was allocated."""
    fitted_together: int = 1


@dataclass(frozen=True)
class Record:
    """One run and what came of it; everything here is plain data."""

    key: str
    suite: str
    profile: str
    dataset: str
    origin: str
    method: str
    fold: int
    seed: int
    run: Mapping[str, object]
    """The full description whose hash is `key`."""
    status: Status
    error: str | None
    scores: Mapping[str, Mapping[str, float]]
    """condition → metric → value"""
    condition_origins: Mapping[str, str]
    """condition → origin of the data it was scored on"""
    diagnostics: Mapping[str, float]
    cost: Cost | None
    facts: Mapping[str, object]
    provenance: Mapping[str, object]
    reproduces: tuple[Mapping[str, object], ...] = ()
    target: Mapping[str, object] | None = field(default=None)
    """name, unit, mean and std of a regression target"""
    acquired: tuple[int, ...] = ()
    """Rows of the pool that active learning labelled, in that order."""
    reference: Mapping[str, str] | None = None
    """Key of the run that distances are to, and the SHA-256 of its predictions."""
    not_scored: Mapping[str, str] = field(default_factory=dict)
    """Condition → why the posterior could not be scored under it, though the run went well."""
    schema: int = SCHEMA


def newest(records: Iterable[Record]) -> list[Record]:
    """Return one record for each dataset, method, fold and seed: the one chosen last."""
    found: dict[tuple[object, ...], Record] = {}
    for record in sorted(records, key=lambda r: (_chosen(r), r.key)):
        place = (record.suite, record.profile, record.dataset, record.origin)
        found[(*place, record.method, record.fold, record.seed)] = record
    return sorted(found.values(), key=lambda r: r.key)


def _chosen(record: Record) -> str:
    """Return when a command last asked for exactly this run, as far as that is known."""
    return str(record.provenance.get("chosen", record.provenance.get("finished", "")))


def to_json(record: Record) -> str:
    """Return the record as JSON; infinities and NaN become strings."""
    return json.dumps(_encode(dataclasses.asdict(record)), indent=1, sort_keys=True)


def from_json(text: str) -> Record:
    """Return the record that `to_json` wrote.

    Raises ValueError when the text is damaged or of another schema.
    """
    try:
        fields = json.loads(text)
        if fields.get("schema") != SCHEMA:
            raise ValueError(f"schema {fields.get('schema')!r}, this version reads {SCHEMA}")
        numbers = ("scores", "diagnostics", "cost", "target")
        fields |= {name: _decode(fields[name]) for name in numbers}
        cost = fields["cost"] and Cost(**fields["cost"])
        tuples = {name: tuple(fields.get(name, ())) for name in ("reproduces", "acquired")}
        return Record(**fields | {"cost": cost} | tuples)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a record: {error!r}") from error


def _encode(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _encode(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_encode(item) for item in value]
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _decode(value: object) -> object:
    if isinstance(value, dict):
        return {name: _decode(item) for name, item in value.items()}
    return float(value) if value in ("nan", "inf", "-inf") else value
