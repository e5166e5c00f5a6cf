"""Rebuild runs and evaluations from their records."""

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import Described, describe, implied_by
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.declare.names import kind_of, path_of
from bnnbench.engine.records.record import Record
from bnnbench.methods.base import Problem
from bnnbench.methods.names import FACTORIES
from bnnbench.methods.networks.torch_module import TorchModule
from bnnbench.metrics import METRICS


class NotRepeatable(ValueError):
    """The run of a record cannot be rebuilt; the message names the reason and a possible remedy."""


@dataclass(frozen=True, eq=False)
class Sent(Described):
    """A described value that is constructed by the process to which it is sent.

    The process that sends it neither imports nor constructs it.
    """

    packages: tuple[str, ...] = ()

    def fit(self, problem: Problem, rng: torch.Generator) -> NoReturn:
        """Raise TypeError: it is no method here."""
        raise TypeError(f"{self.description.get('type')} is only described in this process")

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (self.description, self.packages)


def rebuilt_run(record: Record, packages: Sequence[str] = ()) -> Run:
    """Return the run of a record, with the record's key.

    Raises `NotRepeatable`.
    """
    if record.external is not None:
        raise NotRepeatable(
            "its predictions are external; make them again with the other program, and score them "
            "with `bnnbench score`"
        )
    description = dict(record.run)
    try:
        parts = {name: rebuilt(part, packages) for name, part in description.items()}
        source, network = parts.pop("source"), parts.pop("architecture")
        prior = parts.pop("prior", None)
        parts.pop("modules", None)  # implied by the network; the key shows whether it is the same
        case = Case(source, network, record.dataset, record.title, prior)
        run = Run(label=record.method, case=case, strategy=record.strategy, **parts)
    except (KeyError, TypeError) as error:
        raise NotRepeatable(f"{error}; {_remedy(record)}") from error
    if run.key != record.key:
        changed = ", ".join(_differences(description, dict(run.description))) or "its key"
        raise NotRepeatable(
            f"the present code describes this run differently: {changed}; {_remedy(record)}"
        )
    return run


def rebuilt_evaluations(record: Record, packages: Sequence[str] = ()) -> tuple[Evaluation, ...]:
    """Return a record's evaluations, with all metrics for which it has scores.

    Raises `NotRepeatable`.
    """
    complete = []
    for evaluation in (rebuilt(described, packages) for described in record.evaluations):
        scores = record.outcome.scores.get(evaluation.condition.name, {})
        metrics = dict.fromkeys([*evaluation.metrics, *(n for n in scores if n in METRICS)])
        complete.append(Evaluation(evaluation.condition, tuple(metrics)))
    return tuple(complete)


def rebuilt(described: Any, packages: Sequence[str] = ()) -> Any:
    """Return the value that `describe` described; sequences become tuples.

    Only dataclasses of this project and of these packages are constructed, and modules by their
    factories. Raises `NotRepeatable`.
    """
    if isinstance(described, Mapping) and "type" in described:
        dataclass_type = _kind(str(described["type"]), packages)
        factory = str(described.get("factory"))
        if dataclass_type is TorchModule and factory not in FACTORIES:
            _require_allowed(factory, packages)
        fields = {f.name: f for f in dataclasses.fields(dataclass_type)}
        if unknown := described.keys() - fields.keys() - {"type"}:
            raise NotRepeatable(f"{described['type']} has no setting {', '.join(sorted(unknown))}")
        hints = (
            typing.get_type_hints(dataclass_type)
            if "nan" in str(described) or "inf" in str(described)
            else {}
        )
        settings = {
            name: rebuilt(_number(value, hints.get(name)), packages)
            for name, value in described.items()
            if name != "type" and fields[name].init
        }
        return dataclass_type(**implied_by(dataclass_type) | settings)
    if isinstance(described, Mapping):
        return {name: rebuilt(value, packages) for name, value in described.items()}
    if isinstance(described, (list, tuple)):
        return tuple(rebuilt(value, packages) for value in described)
    return described


def _kind(name: str, packages: Sequence[str]) -> Any:
    """Return a class of this project, or of a package that may be imported."""
    if path_of(name) == name:
        _require_allowed(name, packages)
    try:
        result = kind_of(name)
    except ImportError as error:
        raise NotRepeatable(
            f"{name} cannot be imported: {error}; repeat this in the folder of its file, or with "
            "that folder in PYTHONPATH"
        ) from error
    if not dataclasses.is_dataclass(result):
        raise NotRepeatable(f"{name} is not a dataclass")
    return result


def _require_allowed(name: str, packages: Sequence[str]) -> None:
    """Raise `NotRepeatable` for code of a package that may not be imported."""
    package = name.partition(":")[0].partition(".")[0]
    if package not in packages:
        raise NotRepeatable(
            f"the record names {name}, which is not a class of this project; if you trust it, "
            f"add --allow {package}"
        )


def _number(value: object, hint: object) -> object:
    """Return the number for infinities and NaN, recorded as text, if the setting is a number."""
    numeric = hint is float or float in typing.get_args(hint)
    if numeric and isinstance(value, str) and value in ("inf", "-inf", "nan"):
        return float(value)
    return value


def _differences(recorded: Any, present: Any, path: str = "") -> list[str]:
    """Return the settings in which two descriptions differ."""
    if isinstance(recorded, Mapping) and isinstance(present, Mapping):
        names = sorted(recorded.keys() | present.keys())
        pairs = ((n, recorded.get(n, "nothing"), present.get(n, "nothing")) for n in names)
        return [d for n, a, b in pairs for d in _differences(a, b, f"{path}.{n}".strip("."))]
    if (
        isinstance(recorded, (list, tuple))
        and isinstance(present, (list, tuple))
        and len(recorded) == len(present)
    ):
        pairs = enumerate(zip(recorded, present, strict=True))
        return [d for n, (a, b) in pairs for d in _differences(a, b, f"{path}[{n}]")]
    equal = recorded == describe(present)
    return [] if equal else [f"{path} was {recorded!r}, is {present!r}"]


def _remedy(record: Record) -> str:
    commit = record.circumstances.provenance.get("commit")
    return (
        f"`git checkout {commit}` has the code that recorded it"
        if commit
        else "its commit is unknown"
    )
