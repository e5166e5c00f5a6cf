"""Submitted runs as text: nothing that a record names is imported or constructed here."""

import functools
import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Run, Suite
from bnnbench.engine.declare.names import path_of
from bnnbench.engine.declare.third_party import third_party_names
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.store.rebuilding import Sent
from bnnbench.engine.store.store import Store
from bnnbench.methods.source_code import Class, digest_beside
from bnnbench.metrics import METRICS


class Refused(ValueError):
    """A submission that is not admitted; the message names cause and cure."""


@dataclass(frozen=True)
class Submitted:
    """The runs of one method in one profile, and the folder with the method's own files."""

    store: Store
    records: tuple[Record, ...]
    code: Path
    sandbox: Sandbox | None = None
    """The sandbox of all processes that import that code."""

    @property
    def first(self) -> Record:
        """One of the records, which agree in suite, profile and label."""
        return self.records[0]

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The modules in the folder of code, the only ones whose names may be third-party."""
        return tuple(sorted(path.stem for path in self.code.glob("*.py")))

    @cached_property
    def methods(self) -> Mapping[str, Mapping[str, object]]:
        """Data set → the description of the method. Raises `Refused` if there are several."""
        methods: dict[str, Mapping[str, object]] = {}
        for record in self.records:
            method = record.run.get("method")
            if (
                not isinstance(method, Mapping)
                or methods.setdefault(record.dataset, method) != method
            ):
                raise Refused(f"the runs on {record.dataset} are not all of one method")
        return methods

    @cached_property
    def suite(self) -> Suite:
        """The suite's declaration, with the submitted method alone. Raises `Refused`."""
        suite = declared_suite(self.first)
        sent: Any = {name: Sent(method, self.modules) for name, method in self.methods.items()}
        cases = tuple(case for case in suite.cases if case.name in sent)
        if missing := sent.keys() - {case.name for case in cases}:
            raise Refused(f"the profile has no data set {', '.join(sorted(missing))}")
        label = self.first.method
        return replace(
            suite,
            cases=cases,
            methods={label: sent[cases[0].name]},
            optional=(),
            optional_methods=(),
            own_architectures={},
            own_settings={name: {label: method} for name, method in sent.items()},
            reference=None,
        )

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        """Key → run, for all runs of the profile on the records' data sets."""
        return {run.key: run for run in self.suite.runs()}

    def evaluations(self, record: Record) -> tuple[Evaluation, ...]:
        """Return the suite's evaluations, with all metrics for which a record has scores."""
        complete = []
        for evaluation in self.suite.evaluations:
            scores = record.outcome.scores.get(evaluation.condition.name, {})
            metrics = dict.fromkeys([*evaluation.metrics, *(n for n in scores if n in METRICS)])
            complete.append(Evaluation(evaluation.condition, tuple(metrics)))
        return tuple(complete)


def declared_suite(record: Record) -> Suite:
    """Return the declaration of a record's profile; raises `Refused` if there is none."""
    from bnnbench import suites

    if record.suite not in suites.SUITES:
        raise Refused(f"there is no suite {record.suite!r}")
    declared = importlib.import_module(f"bnnbench.suites.{record.suite}").SUITES
    if record.profile not in declared:
        raise Refused(f"the suite {record.suite} has no profile {record.profile!r}")
    return declared[record.profile]


def check_modules(modules: Sequence[str]) -> None:
    """Raise `Refused` for a module whose name another module has, or an absent package.

    A process that imports the other, or tries the package, would run the module.
    """
    for name in modules:
        if name in (*sys.modules, *sys.stdlib_module_names) or importlib.util.find_spec(name):
            raise Refused(f"{name}.py has the name of another module: rename it")
        if name.casefold() in _optional_packages():
            raise Refused(f"{name}.py has the name of a package that others use: rename it")


@functools.cache
def _optional_packages() -> frozenset[str]:
    """Return the names of packages that installed ones may use, whether installed or not."""
    needs = [need for each in distributions() for need in each.requires or ()]
    names = (re.match(r"[\w.-]+", need) for need in needs)
    return frozenset(name[0].replace("-", "_").casefold() for name in names if name)


def check_names(records: Sequence[Record], modules: Sequence[str]) -> None:
    """Raise `Refused` if a record names a class or a factory outside the project and `modules`."""
    for record in records:
        for name in sorted(third_party_names([record.run, list(record.evaluations)])):
            module, _, _ = name.partition(":")
            if module not in modules:
                raise Refused(
                    f"the record of {record.key} names {name}, which is neither of this project "
                    "nor in a file that comes with the runs: a method, with all classes that its "
                    "settings name, needs to be in files next to each other"
                )


def code_digest(method: Mapping[str, object], code: Path) -> str:
    """Return the digest of a described method's code, read from a folder without importing it."""
    return digest_beside(code, classes_in(method))


def classes_in(described: object) -> list[Class]:
    """Return the classes in a description, and those of settings that it leaves out."""
    if isinstance(described, Mapping):
        inner = [each for value in described.values() for each in classes_in(value)]
        name = str(described["type"]) if "type" in described else ""
        return [Class.at(path_of(name)), *inner, *_left_out(name, described)] if name else inner
    if isinstance(described, list | tuple):
        return [each for value in described for each in classes_in(value)]
    return []


def _left_out(name: str, described: Mapping[str, object]) -> list[Class]:
    """Return the classes in the defaults of settings that a description leaves out."""
    if path_of(name) == name:
        return []
    from bnnbench.engine.declare.names import kind_of
    from bnnbench.engine.method_settings.labels import default_of
    from bnnbench.engine.method_settings.settings import fields_of

    missing = [field for field in fields_of(kind_of(name)) if field.name not in described]
    return [each for field in missing for each in classes_in(_described(default_of(field)))]


def _described(value: object) -> object:
    """Return the description of a setting's default; None if it has none."""
    try:
        return describe(value)
    except TypeError:
        return None
