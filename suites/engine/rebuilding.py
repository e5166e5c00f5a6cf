"""A run and its evaluations, made again from what a record says of them."""

import dataclasses
import importlib
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from datasets.limited import Limited
from datasets.resolve import resolve
from metrics import METRICS
from suites.engine.description import describe
from suites.engine.grid import Evaluation, Run, Suite
from suites.engine.record import Record

OWN = ("datasets", "methods", "metrics", "suites")
"""Packages whose classes a record may name; naming another must not make us import it."""


class NotRepeatable(ValueError):
    """A record does not lead back to its run; says why, and what may help."""


def rebuilt_run(record: Record, packages: Sequence[str] = OWN) -> Run:
    """Return the run of a record; its key is the record's.

    Raises `NotRepeatable`.
    """
    told = dict(record.run)
    try:
        parts = {name: rebuilt(part, packages) for name, part in told.items()}
        run = Run(label=record.method, **parts)
    except TypeError as error:
        raise NotRepeatable(f"{error}; {_cure(record)}") from error
    if run.key != record.key:
        changed = ", ".join(_differences(told, dict(run.description))) or "its key"
        raise NotRepeatable(
            f"today's code describes this run otherwise: {changed}; {_cure(record)}"
        )
    return run


def rebuilt_evaluations(record: Record, packages: Sequence[str] = OWN) -> tuple[Evaluation, ...]:
    """Return what a record's run was evaluated on, with all metrics that it has scores of.

    A record of schema 1 names conditions only; its suite says what they are. Raises
    `NotRepeatable`.
    """
    if record.evaluations:
        found = [rebuilt(told, packages) for told in record.evaluations]
    else:
        found = _declared(record)
    complete = []
    for evaluation in found:
        scores = record.scores.get(evaluation.condition.name, {})
        metrics = dict.fromkeys([*evaluation.metrics, *(n for n in scores if n in METRICS)])
        complete.append(Evaluation(evaluation.condition, tuple(metrics)))
    return tuple(complete)


def rebuilt(told: Any, packages: Sequence[str] = OWN) -> Any:
    """Return the value that `describe` told of; sequences become tuples.

    Only dataclasses of these packages are made. Raises `NotRepeatable`.
    """
    if isinstance(told, Mapping) and "type" in told:
        kind = _kind(str(told["type"]), packages)
        known = {f.name: f for f in dataclasses.fields(kind)}
        if strangers := told.keys() - known.keys() - {"type"}:
            raise NotRepeatable(f"{told['type']} has no setting {', '.join(sorted(strangers))}")
        hints = typing.get_type_hints(kind) if "nan" in str(told) or "inf" in str(told) else {}
        settings = {
            name: rebuilt(_number(value, hints.get(name)), packages)
            for name, value in told.items()
            if name != "type" and known[name].init
        }
        return kind(**settings)
    if isinstance(told, Mapping):
        return {name: rebuilt(value, packages) for name, value in told.items()}
    if isinstance(told, (list, tuple)):
        return tuple(rebuilt(value, packages) for value in told)
    return told


def _kind(path: str, packages: Sequence[str]) -> Any:
    module, _, name = path.partition(":")
    if module.partition(".")[0] not in packages:
        raise NotRepeatable(
            f"the record names {path}, which is none of this project; if you trust it, "
            f"--allow {module.partition('.')[0]}"
        )
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise NotRepeatable(f"{path} is not there: {error}") from error
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise NotRepeatable(f"{path} is no dataclass")
    return kind


def _number(told: object, hint: object) -> object:
    """Return infinities and NaN, which are told as text, where the setting is a number."""
    numeric = hint is float or float in typing.get_args(hint)
    if numeric and isinstance(told, str) and told in ("inf", "-inf", "nan"):
        return float(told)
    return told


def _declared(record: Record) -> list[Evaluation]:
    """Return the evaluations of the record's suite that it was scored under."""
    try:
        suites: Mapping[str, Suite] = importlib.import_module(f"suites.{record.suite}").SUITES
        suite = suites[record.profile]
    except (ImportError, AttributeError, KeyError) as error:
        raise NotRepeatable(
            "the record is of schema 1, which does not say what conditions are, and its suite "
            f"{record.suite}, profile {record.profile}, cannot be asked: {error!r}"
        ) from error
    source: Any = record.run.get("source")
    rows = source["test"] if str(source["type"]).endswith(":Limited") else None

    def usable(source: Any) -> Any:
        found = resolve(source, "auto", True, "test")
        return Limited(found, train=rows, test=rows) if rows else found

    conditions = [e.condition.with_sources(usable) for e in suite.evaluations]
    pairs = zip(conditions, suite.evaluations, strict=True)
    found = [Evaluation(c, e.metrics) for c, e in pairs if c.name in record.condition_origins]
    if missing := record.scores.keys() - {e.condition.name for e in found} - {""}:
        probed = record.run.get("probes") or record.run.get("acquisition")
        if not probed:
            raise NotRepeatable(
                f"the suite has no conditions {', '.join(sorted(missing))} any more"
            )
    return found


def _differences(told: Any, today: Any, place: str = "") -> list[str]:
    """Return the settings in which two descriptions differ."""
    if isinstance(told, Mapping) and isinstance(today, Mapping):
        names = sorted(told.keys() | today.keys())
        pairs = ((n, told.get(n, "nothing"), today.get(n, "nothing")) for n in names)
        return [d for n, a, b in pairs for d in _differences(a, b, f"{place}.{n}".strip("."))]
    if (
        isinstance(told, (list, tuple))
        and isinstance(today, (list, tuple))
        and len(told) == len(today)
    ):
        pairs = enumerate(zip(told, today, strict=True))
        return [d for n, (a, b) in pairs for d in _differences(a, b, f"{place}[{n}]")]
    same = told == describe(today)
    return [] if same else [f"{place} was {told!r}, is {today!r}"]


def _cure(record: Record) -> str:
    commit = record.provenance.get("commit")
    return f"`git checkout {commit}` has the code of that time" if commit else "no commit is known"
