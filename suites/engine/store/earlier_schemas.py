"""Records of schemas 1 and 2, for reports: they describe classes by paths of their time."""

from dataclasses import replace
from typing import Any

from bnnbench.suites.engine.declare import names
from bnnbench.suites.engine.store.record import SCHEMA, Record

MOVED = {
    "methods.architectures:Dropout": "dropout",
    "methods.function_space.models:Dropout": "dropout_model",
    "methods.architectures:GaussianNoise": "gaussian_noise",
    "datasets.perturbations:GaussianNoise": "noisy",
    "methods.message_passing.network:Precision": "message_accuracy",
}
"""Classes whose name alone does not tell which one of today is meant."""


def with_registered_names(record: Record) -> Record:
    """Return a record of an earlier schema with the registered names of its classes."""
    if record.schema >= SCHEMA:
        return record
    run, *evaluations = (_renamed(part) for part in (record.run, *record.evaluations))
    return replace(record, run=run, evaluations=tuple(evaluations))


def _renamed(described: Any) -> Any:
    if isinstance(described, dict):
        kind = str(described.get("type")).rpartition(":")[2]
        if kind == "Renamed":  # a source under the name of a case
            return _renamed(described["source"])
        if kind == "Sine":  # which had the name of a case
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
    kind = path.rpartition(":")[2]
    registered = [n for table in names.TABLES for n in table if names.class_name(n) == kind]
    return registered[0] if len(registered) == 1 else path
