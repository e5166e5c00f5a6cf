"""The top-level definitions of modules, and what the names in a module refer to."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bnnbench.methods.source_code.files import origin_of

WHOLE, EFFECTS, KERNELS = "*", "!", "#"
"""Special names of definitions: the whole module; the module's statements that bind no name;
the sources in other languages in its folder."""


class Definition(NamedTuple):
    """A function, class or other top-level statement of a module, by the name that it binds."""

    module: str
    name: str


@dataclass(frozen=True)
class Module:
    """A module whose source counts towards digests."""

    name: str


@dataclass(frozen=True)
class External:
    """A name of another package, such as "numpy.log"."""

    name: str


@dataclass(frozen=True)
class Imported:
    """`from module import name`, before it is resolved; if `name` is "", the module itself."""

    module: str
    name: str


Target = Definition | Module | External

ANNOTATIONS_ONLY = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
"""Conditions of imports that only annotations need."""


@dataclass
class Source:
    """A parsed module."""

    name: str
    file: Path
    bound: dict[str, Imported | list[ast.stmt]] = field(default_factory=dict)
    """Name → the import or the statements that bind it."""
    effects: list[ast.stmt] = field(default_factory=list)
    """Statements that bind no name, such as `torch.set_num_threads(1)`."""
    _imports: dict[str, ast.stmt] = field(default_factory=dict)
    """Name → the import that binds it, for names that are bound again."""

    @classmethod
    def parsed(cls, name: str, file: Path) -> "Source":
        """Return a module's definitions; raises SyntaxError."""
        source = cls(name, file)
        for statement in ast.parse(file.read_bytes()).body:
            source._add(statement)
        return source

    @cached_property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self.bound |= imports(statement, self.package)
            self._imports |= dict.fromkeys(imports(statement, self.package), statement)
        elif isinstance(statement, ast.If) and ast.unparse(statement.test) in ANNOTATIONS_ONLY:
            for inner in statement.orelse:
                self._add(inner)
        elif _is_nothing(statement):
            return
        elif names := dict.fromkeys(bindings([statement])):
            for name in names:
                earlier = self.bound.get(name, [])
                if isinstance(earlier, Imported):
                    earlier = [self._imports[name]]
                self.bound[name] = [*earlier, statement]
        else:
            self.effects.append(statement)


def _is_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is a bare string, `__all__` or the main block of a script."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) == "__name__ == '__main__'"
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"


class Form(NamedTuple):
    """The canonical form of a definition."""

    parts: tuple[str | Definition, ...]
    """Its text; between two texts stands a reference to a definition."""
    may_read_cards: bool


class Sources:
    """Modules whose sources count, parsed on first use."""

    def __init__(self, find: Callable[[str], Path | None]) -> None:
        """`find` returns the file of a module whose source counts, None for any other."""
        self._find = find
        self._files: dict[str, Path | None] = {}
        self._parsed: dict[str, Source] = {}
        self.forms: dict[tuple[Definition, bool], Form] = {}
        """Definition, with or without cards → its canonical form, once it was asked for."""

    def file(self, name: str) -> Path | None:
        """Return the file of a module whose source counts, else None."""
        if name not in self._files:
            self._files[name] = self._find(name)
        return self._files[name]

    def source(self, name: str) -> Source | None:
        """Return a module whose source counts, else None."""
        if name not in self._parsed and (file := self.file(name)):
            self._parsed[name] = Source.parsed(name, file)
        return self._parsed.get(name)

    def followed(self, bound: Imported) -> Target | None:
        """Return the target of an import; None if a module that counts has no such name."""
        if self.file(bound.module) is None:
            return External(f"{bound.module}.{bound.name}".removesuffix("."))
        return self.resolved(bound.module, bound.name) if bound.name else Module(bound.module)

    def resolved(self, module: str, name: str) -> Target | None:
        """Return what a module's name refers to, through any number of re-exports."""
        source = self.source(module)
        bound = source.bound.get(name) if source else None
        if isinstance(bound, list):
            return Definition(module, name)
        if isinstance(bound, Imported) and (bound.module, bound.name) != (module, name):
            return self.followed(bound)
        submodule = f"{module}.{name}"
        return Module(submodule) if self.file(submodule) else None


def imports(statement: ast.Import | ast.ImportFrom, package: str) -> dict[str, Imported]:
    """Return name → origin, for each name that an import binds."""
    if isinstance(statement, ast.ImportFrom):
        origin = origin_of(statement, package)
        return {a.asname or a.name: Imported(origin, a.name) for a in statement.names}
    names = {}
    for alias in statement.names:
        first = alias.name.partition(".")[0]
        names[alias.asname or first] = Imported(alias.name if alias.asname else first, "")
    return names


def bindings(statements: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that statements bind in their own scope, not in nested functions."""
    waiting: list[ast.AST] = list(reversed(statements))
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                walrus = (n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
                yield from (target.id for target in walrus if isinstance(target, ast.Name))
                continue
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.Import() | ast.ImportFrom():
                yield from imports(node, "")
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                if node.name:
                    yield node.name
            case ast.MatchMapping(rest=str(rest)):
                yield rest
        waiting += reversed(list(ast.iter_child_nodes(node)))


def scope_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, source: Source
) -> Mapping[str, Imported | None]:
    """Return the names in a function's own scope: its imports and, as None, its variables."""
    body = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    names: dict[str, Imported | None] = dict.fromkeys(a.arg for a in arguments(function.args))
    names |= dict.fromkeys(bindings(body))
    for node in _own_nodes(body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= imports(node, source.package)
        elif isinstance(node, ast.Global):
            names |= {name: Imported(source.name, name) for name in node.names}
        elif isinstance(node, ast.Nonlocal):
            names = {name: bound for name, bound in names.items() if name not in node.names}
    return names


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own_nodes(list(ast.iter_child_nodes(node)))


def arguments(given: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    starred = [argument for argument in (given.vararg, given.kwarg) if argument]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]
