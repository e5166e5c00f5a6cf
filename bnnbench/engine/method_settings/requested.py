"""The methods requested on the command line, with their settings, for a suite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Networks, Suite
from bnnbench.engine.declare.names import name_of
from bnnbench.engine.method_settings.expressions import Spelled, parsed
from bnnbench.engine.method_settings.labels import differences, with_differences
from bnnbench.engine.method_settings.registry import class_of, known_methods, registered
from bnnbench.engine.method_settings.settings import changed, constructed
from bnnbench.methods.base import Method
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.plan import lengths
from bnnbench.methods.tuning.space import space_of
from bnnbench.wording import UnknownMethod, UsageError


@dataclass(frozen=True)
class Row:
    """A method, of a suite or not, as a row of the tables."""

    method: Method
    by_case: Mapping[str, Method] = field(default_factory=dict)
    """Name of a case → the method with its settings for that case."""
    network: Networks | None = None
    """Its custom networks, if the suite declares any."""


def with_methods(suite: Suite, requests: Sequence[str | Spelled | Method]) -> dict[str, Any]:
    """Return the fields of a suite that hold the requested methods by label, in order.

    A request is a label of the suite, else a registered name, else "module:Class", each optionally
    with settings, or an instance. A label never stands for two methods. Raises UsageError.
    """
    rows: dict[str, Row] = {}
    for request in requests:
        for (label, spare), row in _rows(suite, request).items():
            rows[label if rows.get(label, row) == row else spare] = row
    by_case: dict[str, dict[str, Method]] = {}
    for label, row in rows.items():
        for case, method in row.by_case.items():
            by_case.setdefault(case, {})[label] = method
    return {
        "methods": {label: row.method for label, row in rows.items()},
        "own_settings": by_case,
        "own_architectures": {n: row.network for n, row in rows.items() if row.network is not None},
        "optional_methods": (),
    }


def method_of(request: str) -> Method:
    """Return the method for a registered name or "module:Class", optionally with settings.

    Raises UsageError if there is none, or if it is not a method.
    """
    spelled = parsed(request)
    return _checked(constructed(class_of(spelled.name), spelled.settings), spelled.name)


def _rows(suite: Suite, request: str | Spelled | Method) -> dict[tuple[str, str], Row]:
    """Return the rows that a request stands for, by label and by an alternative unique label.

    Methods of one class that settings make equal are one row. If the suite tunes its methods, a
    method from outside the suite is tuned with the same budget.
    """
    if not isinstance(request, str | Spelled):
        return _row_of_instance(suite, request)
    spelled = _spelled(suite, request)
    labels = _labels(suite, spelled.name) or _of_class(suite, spelled.name)
    if not labels:
        return _row_of_class(suite, spelled)
    rows = {}
    for label in labels:
        row = _row(suite, label)
        new = _with_settings(row, spelled.settings)
        differing = differences(new.method, row.method)
        for case, method in row.by_case.items():
            differing |= differences(new.by_case[case], method)
        full = with_differences(label, differing)
        if new not in rows.values():
            rows[full, full] = new
    return rows


def _row_of_instance(suite: Suite, method: Method) -> dict[tuple[str, str], Row]:
    """Return the row of a method as it is, under its label in the suite if it has one."""
    if isinstance(method, type):
        raise UsageError(f"{method.__name__} is a class; give an instance: {method.__name__}()")
    kind = type(method)
    _checked(_hashable(method), kind.__name__)
    labels = [label for label, one in suite.methods.items() if one == method]
    label = _declared_label(kind) or name_of(kind).rpartition(":")[2]
    full = labels[0] if labels else with_differences(label, differences(method))
    return {(full, with_differences(name_of(kind), differences(method))): Row(method)}


def _spelled(suite: Suite, request: str | Spelled) -> Spelled:
    """Return the request's name and settings; a suite's label may itself look like settings."""
    if not isinstance(request, str):
        return request
    return Spelled(request) if _labels(suite, request) else parsed(request)


def _labels(suite: Suite, name: str) -> list[str]:
    return [label for label in suite.methods if label.casefold() == name.casefold()]


def _of_class(suite: Suite, name: str) -> list[str]:
    """Return the labels of the methods whose class has the registered name."""
    known = registered(name)
    names = {known, known_methods()[known]} if known else set()
    return [label for label, m in suite.methods.items() if name_of(type(_inner(m))) in names]


def _row(suite: Suite, label: str) -> Row:
    cases = suite.own_settings.items()
    by_case = {case: methods[label] for case, methods in cases if label in methods}
    return Row(suite.methods[label], by_case, suite.own_architectures.get(label))


def _with_settings(row: Row, settings: Mapping[str, Any]) -> Row:
    by_case = {case: _changed(method, settings) for case, method in row.by_case.items()}
    return replace(row, method=_changed(row.method, settings), by_case=by_case)


def _changed(method: Method, settings: Mapping[str, Any]) -> Method:
    """Return the method with these settings; for a tuned one, search or inner settings change."""
    if not isinstance(method, Tuned):
        return changed(method, settings)
    of_search, inner = _divided(settings)
    _check_not_searched(method, inner)
    return changed(method, of_search | {f"method.{path}": value for path, value in inner.items()})


def _row_of_class(suite: Suite, spelled: Spelled) -> dict[tuple[str, str], Row]:
    """Return the row of a method that is not in the suite."""
    name = registered(spelled.name)
    if name is None and ":" not in spelled.name:
        raise UnknownMethod(spelled.name, [*suite.methods, *known_methods()])
    kind = class_of(spelled.name)
    budget = next((m for m in suite.methods.values() if isinstance(m, Tuned)), None)
    if kind is Tuned:
        budget = None
    of_search, settings = _divided(spelled.settings) if budget else ({}, spelled.settings)
    method = _hashable(_checked(constructed(kind, settings), spelled.name))
    differing = differences(method)
    if budget:
        tuned = _tuned(method, budget)
        _check_not_searched(tuned, settings)
        method = changed(tuned, of_search)
        differing |= differences(method, tuned)
    label = _declared_label(kind) or name or spelled.name.rpartition(":")[2]
    if label in suite.methods:
        label = spelled.name
    spare = with_differences(name or spelled.name, differing)
    return {(with_differences(label, differing), spare): Row(method)}


def _declared_label(kind: Any) -> str:
    """Return the label that a class declares for its row; "" if absent or if it is a setting."""
    label = getattr(kind, "label", "")
    is_setting = any(field.name == "label" for field in fields(kind))
    return label if isinstance(label, str) and not is_setting else ""


def _divided(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the settings of a tuned method into search settings and the inner method's settings."""
    names = {f.name for f in fields(Tuned)}
    of_search, inner = {}, {}
    for path, value in settings.items():
        head, _, rest = path.partition(".")
        if head == "method" and rest:
            inner[rest] = value
        else:
            (of_search if head in names else inner)[path] = value
    return of_search, inner


def _check_not_searched(tuned: Tuned, settings: Mapping[str, Any]) -> None:
    space = space_of(tuned.method)
    if searched := [path for path in settings if path in {*space.fields, space.length}]:
        raise UsageError(
            f"{searched[0]} has no effect: this profile searches for it on held-out rows. Leave "
            "it out, or use a profile with fixed settings"
        )


def _inner(method: Method) -> Method:
    return method.method if isinstance(method, Tuned) else method


def _tuned(method: Method, budget: Tuned) -> Tuned:
    """Return the method with its settings tuned within a budget."""
    try:
        tuned = replace(budget, method=method)
    except TypeError as error:  # it declares no search space
        raise UsageError(" ".join(str(error).split())) from error
    space = space_of(method)
    try:
        lengths(method, space, tuned.lengths, 100, tuned.updates)
    except AttributeError as error:
        raise UsageError(
            f"{type(method).__name__} has no setting batch_size, which determines the lengths to "
            f"try for {space.length}. Add it, or add lengths to its space: "
            f'Space(..., length="{space.length}", lengths=(10, 20, 40))'
        ) from error
    return tuned


def _hashable(method: Method) -> Method:
    """Return the method if it is hashable, as the engine's tables need; else raise UsageError."""
    try:
        hash(method)
    except TypeError as error:
        raise UsageError(
            f"{error}: write @dataclass(frozen=True), and tuples instead of lists"
        ) from error
    return method


def _checked(method: Any, name: str) -> Method:
    """Return the method. Raises UsageError if it has no fit or cannot be described."""
    if not isinstance(method, Method):
        raise UsageError(f"{name} is not a method: it has no fit(problem, rng)")
    try:
        describe(method)
    except TypeError as error:
        raise UsageError(f"cannot construct {name}: {error}") from error
    return method
