"""Records as JSON, each with a checksum."""

import functools
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bnnbench.datasets.reading.shape import faults
from bnnbench.datasets.reading.third_party_text import shortened
from bnnbench.engine.declare.description import digest
from bnnbench.engine.records import clock
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.flat import CHECKS, flattened, gathered
from bnnbench.engine.records.record import Record

SCHEMA = 3
"""The version of the file's format."""


class LaterSchema(ValueError):
    """A record written by a later version of this program."""

    remedy = "update this program, or choose another folder with --out"


class FutureTimestamp(ValueError):
    """A record with a date in the future."""

    remedy = "set this machine's clock, or remove the run if the clock is right"


def to_json(record: Record) -> str:
    """Return the record as JSON, one field per line; infinities and NaN become strings.

    The last line is the SHA-256 of the lines above.
    """
    fields = flattened(record) | {"cost": record.cost and record.cost.known, "schema": SCHEMA}
    lines = (f'"{name}": {_text(fields[name])}' for name in sorted(fields))
    body = "{\n" + ",\n".join(lines)
    return body + _checksum_line(body)


def from_json(text: str) -> Record:
    """Return the record written by `to_json`.

    Raises ValueError if the text is truncated or altered or does not have the shape of a record,
    `LaterSchema`, and `FutureTimestamp`.
    """
    try:
        fields, wrong = _fields(text)
        schema = fields.pop("schema", None)
        if isinstance(schema, int) and schema > SCHEMA:
            raise LaterSchema(
                f"schema {schema} belongs to a later version of this program, which reads {SCHEMA}"
            )
        if schema != SCHEMA:
            raise ValueError(f"schema {shortened(repr(schema), 200)}; this version reads {SCHEMA}")
        _check_checksum(text, fields)
        cost = fields["cost"] and Cost(**fields["cost"])
        lists = {name: fields.get(name, []) for name in _TUPLES}
        tuples = {n: tuple(v) if isinstance(v, list) else v for n, v in lists.items()}
        record = gathered(**fields | {"cost": cost} | tuples)
        _check_shape(record, wrong, text)
        return record
    except (
        *(json.JSONDecodeError, UnicodeEncodeError),
        *(KeyError, TypeError, AttributeError, RecursionError),
    ) as error:
        raise ValueError(f"not a record: {shortened(repr(error), 200)}") from error


def check_identity(record: Record, key: str) -> None:
    """Raise ValueError unless a record belongs to the run `key` and matches its settings."""
    if record.key != key:
        raise ValueError(f"the record belongs to run {shortened(record.key, 200)}: a copied folder")
    if digest(record.run) != key:
        raise ValueError("the settings in the record do not belong to the run's key")
    settings = {name: record.run.get(name, value) for name, value in _named(record).items()}
    if settings != _named(record):
        names = ", ".join(n for n, value in _named(record).items() if settings[n] != value)
        raise ValueError(f"its {names} differ from those in its settings")


def _named(record: Record) -> dict[str, object]:
    return {name: getattr(record, name) for name in ("suite", "profile", "fold", "seed")}


def _fields(text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a record, and the names of those that have not their field's shape.

    Fields that are equal in many records are read once; these records share the value.
    """
    lines = text.removeprefix("{\n").removesuffix("\n}\n").split("\n")
    try:
        fields = [_field(line.removesuffix(",")) for line in lines]
    except (ValueError, TypeError):
        fields = []
    if len({name for name, *_ in fields}) != len(lines):  # not one field per line, as we write them
        fields = [_checked(*field) for field in _decoded(text).items()]
    return {n: value for n, value, _ in fields}, [n for n, _, right in fields if not right]


@functools.lru_cache(maxsize=4096)
def _field(line: str) -> tuple[str, Any, bool]:
    """Return what `_checked` does for a line of a record."""
    (field,) = _decoded(f"{{{line}}}").items()
    return _checked(*field)


def _checked(name: str, value: Any) -> tuple[str, Any, bool]:
    """Return name and value of a field, and whether the value has the field's shape."""
    value = _decode(value) if name in _NUMBERS else value
    return name, value, name not in CHECKS or CHECKS[name](value)


def _check_shape(record: Record, wrong: Sequence[str], text: str) -> None:
    """Raise ValueError for fields that readers cannot rely on, and `FutureTimestamp`."""
    wrong = [*wrong]
    if record.cost is not None and any(faults(record.cost, Cost)):
        wrong.append("cost")
    outcome, circumstances = record.outcome, record.circumstances
    if not wrong and not outcome.scores.keys() <= circumstances.condition_origins.keys():
        wrong = ["condition_origins"]
    if wrong:
        raise ValueError(f"not in the shape of a record: {', '.join(wrong)}")
    if "\\ud" in text.lower():  # unpaired surrogates, which no page can hold: UnicodeEncodeError
        json.dumps(flattened(record), default=vars, ensure_ascii=False).encode()
    for name in ("finished", "chosen"):
        if (moment := circumstances.provenance.get(name)) is not None and clock.is_in_future(
            moment
        ):
            raise FutureTimestamp(f"it was {name} at {moment}, which is in the future")


def _refuse(constant: str) -> None:
    raise TypeError(f"{constant} is not strict JSON")


_decoded = json.JSONDecoder(parse_constant=_refuse).decode


_NUMBERS = ("scores", "diagnostics", "cost", "target", "trial_scores")
_TUPLES = ("reproduces", "acquired", "evaluations")


def _checksum_line(body: str) -> str:
    return f',\n"sha256": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'


_CHECKSUM_LENGTH = len(_checksum_line(""))


def _check_checksum(text: str, fields: dict[str, object]) -> None:
    """Remove the checksum from the fields. Raises ValueError unless it matches."""
    if fields.pop("sha256", None) is None:
        raise ValueError("the checksum in its last line is missing: it is truncated or altered")
    if text[-_CHECKSUM_LENGTH:] != _checksum_line(text[:-_CHECKSUM_LENGTH]):
        raise ValueError("it does not match the checksum in its last line: it is altered")


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} is not plain data, as records need")


_strict = json.JSONEncoder(sort_keys=True, allow_nan=False, default=_plain).encode


def _text(value: object) -> str:
    """Return strict JSON. The second attempt is slow, but infinities and unpaired surrogates, which
    stand for bytes in file names, are rare.
    """
    try:
        text = _strict(value)
    except ValueError:
        return _strict(_encode(value))
    return _strict(_encode(value)) if "\\ud" in text else text


def _encode(value: object) -> object:
    if isinstance(value, Mapping):
        return {_encode(name): _encode(item) for name, item in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
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
