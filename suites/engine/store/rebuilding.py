"""A run and its evaluations, made again from what a record says of them."""

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from bnnbench.metrics import METRICS
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.description import describe
from bnnbench.suites.engine.declare.grid import Evaluation, Run
from bnnbench.suites.engine.declare.names import kind_of, path_of
from bnnbench.suites.engine.store.record import SCHEMA, Record


class NotRepeatable(ValueError):
    """A record does not lead back to its run; says why, and what may help."""


def rebuilt_run(record: Record, packages: Sequence[str] = ()) -> Run:
    """Return the run of a record; its key is the record's.

    Raises `NotRepeatable`.
    """
    if record.schema < SCHEMA:
        raise NotRepeatable(f"it was recorded by an earlier version; {_cure(record)}")
    told = dict(record.run)
    try:
        parts = {name: rebuilt(part, packages) for name, part in told.items()}
        source, network = parts.pop("source"), parts.pop("architecture")
        case = Case(source, network, record.dataset, record.title)
        run = Run(label=record.method, case=case, **parts)
    except (KeyError, TypeError) as error:
        raise NotRepeatable(f"{error}; {_cure(record)}") from error
    if run.key != record.key:
        changed = ", ".join(_differences(told, dict(run.description))) or "its key"
        raise NotRepeatable(
            f"today's code describes this run otherwise: {changed}; {_cure(record)}"
        )
    return run


def rebuilt_evaluations(record: Record, packages: Sequence[str] = ()) -> tuple[Evaluation, ...]:
    """Return what a record's run was evaluated on, with all metrics that it has scores of.

    Raises `NotRepeatable`.
    """
    complete = []
    for evaluation in (rebuilt(described, packages) for described in record.evaluations):
        scores = record.scores.get(evaluation.condition.name, {})
        metrics = dict.fromkeys([*evaluation.metrics, *(n for n in scores if n in METRICS)])
        complete.append(Evaluation(evaluation.condition, tuple(metrics)))
    return tuple(complete)


def rebuilt(told: Any, packages: Sequence[str] = ()) -> Any:
    """Return the value that `describe` told of; sequences become tuples.

    Only dataclasses of this project and of these packages are made. Raises `NotRepeatable`.
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


def _kind(name: str, packages: Sequence[str]) -> Any:
    """Return a class of this project, or one of a package that may be imported."""
    package = name.partition(":")[0].partition(".")[0]
    if path_of(name) == name and package not in packages:
        raise NotRepeatable(
            f"the record names {name}, which is none of this project; if you trust it, "
            f"--allow {package}"
        )
    try:
        kind = kind_of(name)
    except ImportError as error:
        raise NotRepeatable(f"{name} is not there: {error}") from error
    if not dataclasses.is_dataclass(kind):
        raise NotRepeatable(f"{name} is no dataclass")
    return kind


def _number(told: object, hint: object) -> object:
    """Return infinities and NaN, which are told as text, where the setting is a number."""
    numeric = hint is float or float in typing.get_args(hint)
    if numeric and isinstance(told, str) and told in ("inf", "-inf", "nan"):
        return float(told)
    return told


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
