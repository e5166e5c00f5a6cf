"""Labels of methods in the sources of a suite, which are parsed but not imported."""

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from bnnbench.engine.method_settings.registry import class_path
from bnnbench.engine.method_settings.spelling import settings_of
from bnnbench.methods.source_code.files import file_of, origin_of

SUITES = "bnnbench.suites"

SEARCH = "bnnbench.methods.tuning.method:Tuned"


@dataclass(frozen=True)
class SuiteLabels:
    """Labels of a suite, as far as its sources state them; what they leave open is possible."""

    suite: str

    @property
    def names(self) -> Sequence[str]:
        """The labels that the sources state."""
        return list(_labels(self.suite))

    @property
    def further_settings(self) -> Sequence[str]:
        """The settings of a search, which profiles that search allow for every method."""
        return settings_of(SEARCH) or ()

    def may_have(self, name: str) -> bool:
        """Return whether a text of the sources may be this label."""
        known = _texts(self.suite)
        return not known or any(re.fullmatch(text, name, re.IGNORECASE) for text in known)

    def mean_class(self, name: str) -> bool:
        """Return whether a name stands for its registered class, also where it is a label."""
        labels = _labels(self.suite).items()
        alike = [kinds for label, kinds in labels if label.casefold() == name.casefold()]
        if not alike:
            return not _sources(f"{SUITES}.{self.suite}") or not self.may_have(name)
        return set().union(*alike) == {class_path(name).rpartition(":")[2]}


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
