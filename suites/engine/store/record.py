"""What is kept of a run: status, scores, cost, diagnostics, provenance."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

SCHEMA = 3
"""2 seals the record, knows its predictions by checksum and holds what was evaluated, on what.
3 describes classes by registered names, and knows the code and the data behind a run and the
title of its case."""

READABLE = (1, 2, SCHEMA)

UNKNOWN = "unknown"
"""What a record of schema 1 does not say."""

Status = Literal["completed", "diverged", "failed"]


@dataclass(frozen=True)
class Cost:
    """What a run took. Runs that were fitted together share it equally."""

    fit_seconds: float
    predict_seconds: float
    peak_bytes: float
    """Growth of resident memory while fitting; on a GPU, the most that was allocated."""
    fitted_together: int = 1
    fit_joules: float | None = None
    """Of the GPU while fitting; None where nobody counts them, as on a CPU."""
    compile_seconds: float = 0.0
    """Before the fit, in which it is not included; mostly 0, as kernels are kept in a process.
    Earlier records have it among the fit seconds."""

    @property
    def known(self) -> dict[str, float]:
        """What is known of it, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


COSTS = (
    *("fit_seconds", "compile_seconds", "predict_seconds"),
    *("peak_bytes", "fitted_together", "fit_joules"),
)
"""The fields of `Cost`, as tables order them."""


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
    provenance: Mapping[str, Any]
    reproduces: tuple[Mapping[str, Any], ...] = ()
    target: Mapping[str, Any] | None = field(default=None)
    """name, unit, mean and std of a regression target"""
    acquired: tuple[int, ...] = ()
    """Rows of the pool that active learning labelled, in that order."""
    reference: Mapping[str, str] | None = None
    """Key of the run that distances are to, and the SHA-256 of its predictions."""
    not_scored: Mapping[str, str] = field(default_factory=dict)
    """Condition → why the posterior could not be scored under it, though the run went well."""
    unanswered: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Condition → metric → why the predictions could not be scored by it: they are intervals, for
    example, and the metric needs a density."""
    evaluations: tuple[Mapping[str, object], ...] = ()
    """Conditions and metrics as they were asked for, in full; none in schema 1."""
    condition_data: Mapping[str, str] = field(default_factory=dict)
    """Condition → SHA-256 of the inputs and targets it was scored on; none in schema 1.
    That of the fold's raw rows is `facts["sha256"]`."""
    predictions_sha256: str | None = None
    """Of predictions.npz; None where none are kept, and UNKNOWN in schema 1."""
    code_sha256: str | None = None
    """Of the sources of the method and of all that they import (`bnnbench.methods.source_code`)."""
    data_sha256: str | None = None
    """Of the training and test rows (`suites.engine.run.fingerprint`)."""
    own_network: Mapping[str, object] | None = None
    """class, parameters and structure_sha256 of a network that the method brought itself, in place
    of the architecture in `run`; None for the others."""
    title: str = ""
    """What pages call the case, `dataset`; "" where the suite says nothing."""
    schema: int = SCHEMA
    """As it was read; what is written has the latest."""


class LaterSchema(ValueError):
    """A record was written by a later version of this program."""


def newest(records: Iterable[Record]) -> list[Record]:
    """Return one record for each dataset, method, fold and seed: the one chosen last.

    "Last" is by the times at which the store took them, which never go backwards within a
    store, whatever its machines' clocks do (`clock.Clock`); of equal times, by key.
    """
    found: dict[tuple[object, ...], Record] = {}
    for record in sorted(records, key=lambda r: (chosen(r), r.key)):
        place = (record.suite, record.profile, record.dataset, record.origin)
        found[(*place, record.method, record.fold, record.seed)] = record
    return sorted(found.values(), key=lambda r: r.key)


def chosen(record: Record) -> str:
    """Return when a command last asked for exactly this run, as far as that is known."""
    return str(record.provenance.get("chosen", record.provenance.get("finished", "")))


def to_json(record: Record) -> str:
    """Return the record as JSON, a field a line; infinities and NaN become strings.

    The last line seals what is above it by its SHA-256.
    """
    fields = vars(record) | {"cost": record.cost and record.cost.known, "schema": SCHEMA}
    lines = (f'"{name}": {_text(fields[name])}' for name in _NAMES)
    body = "{\n" + ",\n".join(lines)
    return body + _seal(body)


def from_json(text: str) -> Record:
    """Return the record that `to_json` wrote, or an earlier version of it.

    Raises ValueError when the text is truncated or altered, and `LaterSchema`.
    """
    try:
        fields = json.loads(text)
        schema = fields.get("schema")
        if isinstance(schema, int) and schema > SCHEMA:
            raise LaterSchema(
                f"it has schema {schema}, of a later version of this program; this one reads "
                f"{' and '.join(map(str, READABLE))}"
            )
        if schema not in READABLE:
            raise ValueError(f"schema {schema!r}; this version reads {READABLE}")
        _check_seal(text, fields, schema)
        if schema == 1:
            fields["predictions_sha256"] = UNKNOWN if fields["status"] == "completed" else None
        fields |= {name: _decode(fields[name]) for name in _NUMBERS}
        cost = fields["cost"] and Cost(**fields["cost"])
        tuples = {name: tuple(fields.get(name, ())) for name in _TUPLES}
        return Record(**fields | {"cost": cost} | tuples)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a record: {error!r}") from error


_NAMES = sorted(f.name for f in dataclasses.fields(Record))
_NUMBERS = ("scores", "diagnostics", "cost", "target")
_TUPLES = ("reproduces", "acquired", "evaluations")


def _seal(body: str) -> str:
    return f',\n"sha256": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'


_SEAL_LENGTH = len(_seal(""))


def _check_seal(text: str, fields: dict[str, object], schema: int) -> None:
    """Take the seal out of the fields; raises ValueError unless it fits."""
    if fields.pop("sha256", None) is None:
        if schema == 1:
            return
        raise ValueError("its last line, the checksum, is missing: it is truncated or altered")
    if text[-_SEAL_LENGTH:] != _seal(text[:-_SEAL_LENGTH]):
        raise ValueError("it does not have the checksum of its last line: it is altered")


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} is no plain data for a record")


_strict = json.JSONEncoder(sort_keys=True, allow_nan=False, default=_plain).encode


def _text(value: object) -> str:
    """Return strict JSON; the second way is slow, and infinities are rare."""
    try:
        return _strict(value)
    except ValueError:
        return _strict(_encode(value))


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
