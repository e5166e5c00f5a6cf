"""The part of a suite that the command line asks for."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import Method
from bnnbench.methods.own_files import module_of
from bnnbench.methods.tuning.method import Tuned
from bnnbench.metrics import METRICS
from bnnbench.suites.engine.command.arguments import Options
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.description import describe
from bnnbench.suites.engine.declare.grid import Suite
from bnnbench.suites.engine.declare.names import name_of
from bnnbench.suites.engine.declare.probe import with_samples


class UsageError(ValueError):
    """The command line asks for something that does not exist; the message says what exists."""


def selected(suite: Suite, options: Options, profiles: Mapping[str, Suite] = {}) -> Suite:
    """Return the suite limited to the requested methods, data sets, folds and seeds."""
    changes: dict[str, Any] = {}
    if options.methods:
        methods = changes["methods"] = _methods(suite.methods, options.methods)
        changes["optional_methods"] = ()
        changes["own_settings"] = {
            case: {name: settings[name] for name in settings if name in methods}
            for case, settings in suite.own_settings.items()
        }
        settings = suite.own_architectures
        changes["own_architectures"] = {
            name: settings[name] for name in settings if name in methods
        }
    if options.datasets:
        changes |= {"cases": cases_named(suite, options.datasets, profiles), "optional": ()}
    if options.seeds:
        changes["seeds"] = options.seeds
    if options.folds:
        changes["folds"] = options.folds
    if options.samples:
        changes["probes"] = with_samples(suite.probes, options.samples)
    try:
        selection = replace(suite, **changes)
    except ValueError as error:
        raise UsageError(f"--methods: {error}") from error
    for name in {name for e in selection.evaluations for name in e.metrics} - set(METRICS):
        raise UsageError(f"suite {suite.name} asks for a metric " + nearest(name, METRICS))
    return selection


def cases_named(
    suite: Suite, names: Sequence[str], profiles: Mapping[str, Suite]
) -> tuple[Case, ...]:
    """Return the cases of these names; raises `UsageError`, with the profiles that have one."""
    cases = {case.name.casefold(): case for case in suite.cases}
    for name in names:
        if name.casefold() not in cases:
            raise UsageError(f"--datasets: {_not_in_profile(name, suite, profiles)}")
    requested = {name.casefold() for name in names}
    return tuple(case for name, case in cases.items() if name in requested)


def _not_in_profile(name: str, suite: Suite, profiles: Mapping[str, Suite]) -> str:
    """Return a message: the data sets of this profile, and the profiles that have `name`."""
    cases = {case.name.casefold(): case.name for case in suite.cases}
    text = f"{name!r} is not in the {suite.profile} profile, which has {_listed(cases.values())}"
    elsewhere = [
        profile
        for profile, suite_of_profile in profiles.items()
        if name.casefold() in {case.name.casefold() for case in suite_of_profile.cases}
    ]
    if elsewhere:
        return f"{text}; it is in {_listed(elsewhere)} (--profile)"
    close = difflib.get_close_matches(name.casefold(), cases, n=1)
    return text + (f"; did you mean {cases[close[0]]!r}?" if close else "")


def _listed(names: Iterable[str]) -> str:
    """Return names in running text: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _methods(suite: Mapping[str, Method], names: Sequence[str]) -> dict[str, Method]:
    """Return the requested methods by label, in order; a label never stands for two methods."""
    methods: dict[str, Method] = {}
    for name in names:
        for label, method in _method(suite, name).items():
            methods[label if methods.get(label, method) == method else name] = method
    return methods


def _method(suite: Mapping[str, Method], name: str) -> dict[str, Method]:
    """Return the methods that a name stands for: a label, else a registry key, else a class.

    Where the suite tunes its methods, one that it does not have is tuned by the same budget.
    """
    budget = next((method for method in suite.values() if isinstance(method, Tuned)), None)
    labels = [label for label in suite if label.casefold() == name.casefold()]
    if not labels and name.casefold() in METHODS:
        name = name.casefold()
        labels = [label for label, method in suite.items() if name_of(type(_inner(method))) == name]
        if not labels:
            return {name: _tuned(_instance(METHODS[name]), budget)}
    if not labels and ":" in name:
        class_name = name.rpartition(":")[2]
        own = _tuned(_instance(_path(name)), budget)
        return {name if class_name in suite else class_name: own}
    if not labels:
        raise UsageError("--methods: " + nearest(name, [*suite, *METHODS]))
    return {label: suite[label] for label in labels}


def _inner(method: Method) -> Method:
    return method.method if isinstance(method, Tuned) else method


def _tuned(method: Method, budget: Tuned | None) -> Method:
    """Return the method, with its settings searched for by a budget where there is one."""
    if budget is None:
        return method
    try:
        return replace(budget, method=method)
    except TypeError as error:  # it declares no search space
        raise UsageError(f"--methods: {error}") from error


def _path(name: str) -> str:
    """Return "module:Class" for a class that may be named by its file instead of its module."""
    module, _, class_name = name.rpartition(":")
    if not module.endswith(".py"):
        return name
    try:
        return f"{module_of(Path(module))}:{class_name}"
    except ValueError as error:
        raise UsageError(f"--methods: {error}") from error


def _instance(path: str) -> Method:
    """Return the class's instance with default settings."""
    try:
        method = method_type(path)()
        describe(method)
    except Exception as error:  # whatever the module or the class does when it is loaded
        raise UsageError(
            f"--methods: cannot construct {path}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(method, Method):
        raise UsageError(f"--methods: {path} is not a method: it has no fit(problem, rng)")
    return method


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a message that `name` is unknown, with the nearest name and all that exist."""
    spelled = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), spelled, n=1)
    hint = f", did you mean {spelled[close[0]]!r}?" if close else ""
    return f"{name!r} is unknown{hint}; known are {_listed(sorted(spelled.values()))}"
