"""Misspelt methods and settings of a suite's command line, found before the suite is imported."""

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from bnnbench.engine.method_settings import spelling
from bnnbench.engine.method_settings.expressions import Spelled, parsed
from bnnbench.engine.method_settings.files import read
from bnnbench.engine.method_settings.registry import class_path, known_methods, registered
from bnnbench.methods.source_code.files import file_of, origin_of
from bnnbench.wording import UnknownMethod, UsageError

SUITES = "bnnbench.suites"


def check_methods(suite: str, methods: Iterable[str], file: Path | None = None) -> None:
    """Raise UsageError for a method or setting that does not exist.

    What the sources of the suite leave open passes: the suite itself checks all names again.
    """
    for request in (*methods, *_in(file)):
        if isinstance(request, str) and _may_be_label(request, suite):
            continue
        spelled = parsed(request) if isinstance(request, str) else request
        known = registered(spelled.name) or ":" in spelled.name
        if not known and not _may_be_label(spelled.name, suite):
            raise UnknownMethod(spelled.name, [*_labels(suite), *known_methods()])
        if known and _is_class(spelled.name, suite):
            spelling.check_settings(spelled, class_path(spelled.name), _of_search())


def _of_search() -> Sequence[str]:
    """Return the settings of a search, which profiles that search allow for every method."""
    return spelling.settings_of("bnnbench.methods.tuning.method:Tuned") or ()


def _is_class(name: str, suite: str) -> bool:
    """Return whether a name stands for its registered class, also where it is a suite's label."""
    alike = [
        kinds for label, kinds in _labels(suite).items() if label.casefold() == name.casefold()
    ]
    if not alike:
        return not _sources(f"{SUITES}.{suite}") or not _may_be_label(name, suite)
    return set().union(*alike) == {class_path(name).rpartition(":")[2]}


def _in(file: Path | None) -> Sequence[Spelled]:
    """Return the methods of a settings file; none if it cannot be read, which the suite reports."""
    try:
        return read(file) if file else ()
    except (UsageError, OSError):
        return ()


def _may_be_label(name: str, suite: str) -> bool:
    """Return whether a text of the suite's sources may be the label of a method."""
    known = _texts(suite)
    return not known or any(re.fullmatch(text, name, re.IGNORECASE) for text in known)


@functools.cache
def _texts(suite: str) -> frozenset[str]:
    """Return regular expressions of the texts in a suite's sources."""
    nodes = (node for tree in _sources(f"{SUITES}.{suite}") for node in ast.walk(tree))
    return frozenset(filter(None, map(_pattern, nodes)))


def _pattern(node: ast.AST) -> str:
    """Return a regular expression of a text's values; "" for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(value) or ".*" for value in node.values)
    return ""


@functools.cache
def _labels(suite: str) -> Mapping[str, set[str]]:
    """Return the labels that a suite's sources state → the classes of their methods.

    An unknown class is "".
    """
    trees = _sources(f"{SUITES}.{suite}")
    labels: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Dict)):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Call | ast.Name):
                labels.setdefault(str(key.value), set()).update(_classes(value, trees))
    return labels


def _classes(value: ast.expr, trees: Sequence[ast.Module], above: Sequence[str] = ()) -> set[str]:
    """Return the classes whose instances an expression makes, or a name is assigned.

    `above` are the names whose assignments lead to the expression.
    """
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        name = value.func.id
        around = name in ("replace", "Tuned") and value.args
        return _classes(value.args[0], trees, above) if around else {name}
    if not isinstance(value, ast.Name) or value.id in above:
        return {""}
    assigned = [s.value for tree in trees for s in tree.body if _binds(s, value.id)]
    names = (*above, value.id)
    return {kind for one in assigned for kind in _classes(one, trees, names)} or {""}


def _binds(statement: ast.stmt, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(statement, ast.Assign) and name in map(ast.unparse, statement.targets)


@functools.cache
def _sources(module: str) -> tuple[ast.Module, ...]:
    """Return the sources of a suite and of the modules of suites that it imports."""
    trees: dict[str, ast.Module] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = file_of(name) if name not in trees and name.startswith(f"{SUITES}.") else None
        if file:
            trees[name] = ast.parse(file.read_bytes())
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            waiting += _imported(trees[name], package)
    return tuple(trees.values())


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origin = origin_of(node, package)
            yield from (origin, *(f"{origin}.{alias.name}" for alias in node.names))
