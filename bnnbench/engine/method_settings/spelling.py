"""Misspelt methods and settings, found in sources: nothing is imported.

What sources leave open, such as a class with a base class of another package, passes here and is
checked when the method is constructed.
"""

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from bnnbench.engine.method_settings.expressions import Spelled, parsed
from bnnbench.engine.method_settings.files import read
from bnnbench.engine.method_settings.registry import class_path, known_methods, registered
from bnnbench.methods.source_code.files import file_of, is_ours, origin_of
from bnnbench.wording import UnknownMethod, UsageError, did_you_mean, listed

WITHOUT_FIELDS = ("abc", "builtins", "typing")
"""Modules whose classes add no settings to those that inherit from them."""


@runtime_checkable
class Labels(Protocol):
    """Labels of methods, such as those of a suite."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def further_settings(self) -> Sequence[str]:
        """Settings that every method has in addition to its own."""
        ...

    def may_have(self, name: str) -> bool: ...

    def mean_class(self, name: str) -> bool:
        """Return whether a name stands for its registered class, also where it is a label."""
        ...


def check_methods(requests: Iterable[str | Spelled], labels: Labels | None = None) -> None:
    """Raise UsageError for a request of a method or setting that does not exist.

    A method may also be named by one of the `labels`; whether it has the settings is left open.
    """
    for request in requests:
        if labels and isinstance(request, str) and labels.may_have(request):
            continue
        spelled = parsed(request) if isinstance(request, str) else request
        known = registered(spelled.name) or ":" in spelled.name
        if labels and not known and not labels.may_have(spelled.name):
            raise UnknownMethod(spelled.name, [*labels.names, *known_methods()])
        if labels is None or (known and labels.mean_class(spelled.name)):
            further = labels.further_settings if labels else ()
            check_settings(spelled, class_path(spelled.name), further)


def requests_in(file: Path | None) -> Sequence[Spelled]:
    """Return the methods of a settings file; none if it cannot be read, which the suite reports."""
    try:
        return read(file) if file else ()
    except (UsageError, OSError):
        return ()


def check_settings(spelled: Spelled, path: str, others: Sequence[str] = ()) -> None:
    """Raise UsageError for a setting that the class, by its path, does not have.

    `others` are names that are allowed in addition.
    """
    name = registered(spelled.name) or spelled.name
    for setting, value in spelled.settings.items():
        known = None if setting.partition(".")[0] in others else settings_of(path)
        if known is not None:
            check_name(name, setting.partition(".")[0], known)
        for inner in _spelled_in(value):
            check_methods([inner])


def check_name(title: str, name: str, names: Sequence[str]) -> None:
    """Raise UsageError, with the nearest name, unless a class has the setting."""
    if name not in names:
        hint = did_you_mean(name, names)
        known = f"its settings are {listed(names)}" if names else "it has none"
        raise UsageError(f"{title} has no setting {name!r}{hint and f', {hint}'}; {known}")


@functools.cache
def settings_of(path: str) -> tuple[str, ...] | None:
    """Return the settings of a dataclass, "module:Class", in order; None if its source is open."""
    module, _, name = path.partition(":")
    tree = _tree(module)
    kind = next((s for s in tree if isinstance(s, ast.ClassDef) and s.name == name), None)
    if kind is None or not any("dataclass" in ast.unparse(d) for d in kind.decorator_list):
        return None
    return _fields(kind, module)


def _fields(kind: ast.ClassDef, module: str) -> tuple[str, ...] | None:
    """Return inherited and own settings; a plain class hands on those of its bases alone."""
    names: dict[str, None] = {}
    for base in kind.bases:
        inherited = _of_base(base, module)
        if inherited is None:
            return None
        names |= dict.fromkeys(inherited)
    if any("dataclass" in ast.unparse(decorator) for decorator in kind.decorator_list):
        names |= dict.fromkeys(_declared(kind))
    return tuple(names)


def _of_base(base: ast.expr, module: str) -> tuple[str, ...] | None:
    """Return the settings that a class inherits; None if they are not in a source at hand."""
    head = base.value if isinstance(base, ast.Subscript) else base
    if not isinstance(head, ast.Name):
        return None
    origin, name = _origin(head.id, module)
    if origin in WITHOUT_FIELDS:
        return ()
    kinds = (s for s in _tree(origin) if isinstance(s, ast.ClassDef) and s.name == name)
    kind = next(kinds, None)
    return _fields(kind, origin) if kind else None


def _declared(kind: ast.ClassDef) -> Iterator[str]:
    """Yield the names of a class's own fields that its constructor takes."""
    for statement in kind.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            hint = ast.unparse(statement.annotation).strip("'\"").removeprefix("typing.")
            outside = hint.startswith(("ClassVar", "InitVar", "KW_ONLY"))
            if not outside and "init=False" not in ast.unparse(statement):
                yield statement.target.id


def _origin(name: str, module: str) -> tuple[str, str]:
    """Return the module that defines what a name in a module stands for, and its name there."""
    package = module.rpartition(".")[0]
    for statement in _tree(module):
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return module, name
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return origin_of(statement, package), alias.name
    return "builtins" if name == "object" else "", name


@functools.cache
def _tree(module: str) -> tuple[ast.stmt, ...]:
    """Return a module's statements; none if it cannot be found without importing its package."""
    file = file_of(module) if module and (is_ours(module) or "." not in module) else None
    try:
        return tuple(ast.parse(file.read_bytes()).body) if file else ()
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _spelled_in(value: object) -> Iterator[Spelled]:
    """Yield the methods with settings inside a setting's value."""
    if isinstance(value, Spelled) and value.settings:
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _spelled_in(one)
