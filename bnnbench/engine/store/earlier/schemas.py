"""Records of schemas 1 and 2, for reports; they describe classes by their former paths."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bnnbench.engine.declare import names
from bnnbench.engine.store.record import SCHEMA, Record

MOVED = {
    "methods.architectures:Dropout": "dropout",
    "methods.function_space.models:Dropout": "dropout_model",
    "methods.architectures:GaussianNoise": "gaussian_noise",
    "datasets.perturbations:GaussianNoise": "noisy",
    "methods.message_passing.network:Precision": "message_accuracy",
}
"""Classes that once shared their name with another class."""


def with_registered_names(record: Record) -> Record:
    """Return a record of an earlier schema with the registered names of its classes."""
    if record.schema >= SCHEMA:
        return record
    run, *evaluations = (_renamed(part) for part in (record.run, *record.evaluations))
    return replace(record, run=run, evaluations=tuple(evaluations))


def with_whole_claims(record: Record) -> Record:
    """Return a record whose target tables say whether the profile reproduces them completely.

    In earlier records, profiles that do have names beginning with "paper".
    """
    whole = record.profile.startswith("paper")
    claims = tuple({"whole": whole, **claim} for claim in record.reproduces)
    return replace(record, reproduces=claims)


def with_arm(record: Record) -> Record:
    """Return an active-learning record with its acquisition strategy, which ends the label.

    Earlier records do not have it.
    """
    if record.arm or not record.run.get("acquisition"):
        return record
    return replace(record, arm=record.method.rpartition("-")[2])


CONSTANTS = frozenset({"marginal"})
"""Registered names of the methods that predict the same for every input."""


def with_declared_constants(record: Record) -> Record:
    """Return a record whose diagnostics say whether the prediction ignores the inputs.

    Earlier records do not say so.
    """
    method = record.run.get("method")
    name = str(method.get("type")) if isinstance(method, Mapping) else ""
    if name not in CONSTANTS or "ignores_inputs" in record.diagnostics:
        return record
    return replace(record, diagnostics={**record.diagnostics, "ignores_inputs": 1.0})


def _renamed(described: Any) -> Any:
    if isinstance(described, dict):
        class_name = str(described.get("type")).rpartition(":")[2]
        if class_name == "Renamed":  # a source renamed to a case's name
            return _renamed(described["source"])
        if class_name == "Sine":  # its name was the case's
            described = {name: value for name, value in described.items() if name != "name"}
        return {
            name: _name(value) if name == "type" else _renamed(value)
            for name, value in described.items()
        }
    if isinstance(described, (list, tuple)):
        return [_renamed(item) for item in described]
    return described


def _name(path: str) -> str:
    if path in MOVED:
        return MOVED[path]
    class_name = path.rpartition(":")[2]
    registered = [n for table in names.TABLES for n in table if names.class_name(n) == class_name]
    return registered[0] if len(registered) == 1 else path
