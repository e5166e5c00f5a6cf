"""A definition in canonical form: what it computes, without layout, comments and project names.

Texts and references to other definitions alternate. A name of this project is replaced by a
reference to its definition, a name of another package by its full dotted name. `ast.dump` is not
used, since it differs between versions of Python.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bnnbench.methods.source_code.definitions import (
    KERNELS,
    WHOLE,
    Definition,
    External,
    Imported,
    Module,
    Source,
    Sources,
    Target,
    bindings,
    imports,
    scope_of,
)
from bnnbench.methods.source_code.files import MODULE_IN_TEXT, PROJECT

WITHOUT_MEANING = frozenset(
    {"annotation", "returns", "type_comment", "type_params", "type_ignores", "kind", "ctx"}
)
"""Fields of syntax nodes that cannot change a result."""

FIELD_KINDS = ("ClassVar", "InitVar", "KW_ONLY")
"""Annotations that decide whether, or how, a dataclass has a field."""

CARD = "card"
"""The attribute of a class with the facts about a method that only documentation reads."""

CARD_TYPE = Definition(f"{PROJECT}.methods.card", "Card")

READS_CARD = frozenset({f".{CARD}(", f"str:{CARD!r}", repr(CARD)})
"""Parts of the canonical form of code that may read a card."""

Part = str | Definition
Scope = Mapping[str, Imported | None]


def canonical(
    sources: Sources, definition: Definition, with_cards: bool = False
) -> tuple[Part, ...]:
    """Return a definition's statements in canonical form."""
    source = sources.source(definition.module)
    assert source
    statements = source.bound[definition.name]
    assert isinstance(statements, list)
    if all(map(_is_registry, statements)):
        return ("registry",)
    writer = _Writer(sources, source, definition, with_cards)
    for statement in statements:
        writer.node(statement)
    return tuple(writer.parts)


def canonical_effects(sources: Sources, source: Source) -> tuple[Part, ...]:
    """Return a module's statements that bind no name, in canonical form."""
    writer = _Writer(sources, source, None, with_cards=True)
    for statement in source.effects:
        writer.node(statement)
    return tuple(writer.parts)


def _is_registry(statement: ast.stmt) -> bool:
    """Return whether a statement is a table of names and paths, which computes nothing itself."""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Dict):
        return False
    constants = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    paths = [text for text in constants if isinstance(text, str) and _module_of_path(text)]
    return bool(paths) and 2 * len(paths) >= len(constants)


def _module_of_path(text: str) -> str | None:
    """Return the module of a text such as "bnnbench.package.module:Class", else None."""
    module, colon, name = text.partition(":")
    named = bool(colon) and bool(re.fullmatch(r"\w+(\.\w+)*", name))
    return module if named and MODULE_IN_TEXT.fullmatch(module) else None


def _is_literal(node: ast.AST) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


class _Writer:
    def __init__(
        self, sources: Sources, source: Source, written: Definition | None, with_cards: bool
    ) -> None:
        self.parts: list[Part] = []
        self._sources, self._source, self._written = sources, source, written
        self._with_cards = with_cards
        self._scopes: list[Scope] = []
        self._in_message = 0
        self._in_class = False

    def node(self, node: ast.AST) -> None:
        """Write a node and all below it."""
        match node:
            case ast.Constant():
                self._constant(node.value)
            case ast.Name() | ast.Attribute():
                self._name(node)
            case ast.JoinedStr():
                self._f_string(node)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.AnnAssign():
                text = ast.unparse(node.annotation)
                self._write(f"field:{next((kind for kind in FIELD_KINDS if kind in text), '')}")
                self._fields(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._function(node)
            case ast.ClassDef():
                self._class(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node)
            case ast.Raise():
                with self._message():
                    self._fields(node)
            case ast.Call() if self._target(node.func) == External("warnings.warn"):
                with self._message():
                    self._fields(node)
            case _:
                self._fields(node)

    def _write(self, *parts: Part) -> None:
        self.parts += parts

    def _fields(self, node: ast.AST) -> None:
        self._write(f"{type(node).__name__}(")
        for name in node._fields:
            value = getattr(node, name, None)
            if name in WITHOUT_MEANING or value is None or value == []:
                continue
            self._write(name)
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                self._body(value)
                continue
            for part in value if isinstance(value, list) else [value]:
                self.node(part) if isinstance(part, ast.AST) else self._write(repr(part))
        self._write(")")

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            before = len(self.parts)
            if not bare and not isinstance(statement, ast.Pass):
                self.node(statement)
            if len(self.parts) > before:
                self._write(";")

    def _constant(self, value: object) -> None:
        if isinstance(value, str):
            if self._in_message:
                return self._write("message")
            if (module := _module_of_path(value)) and self._sources.file(module):
                target = self._sources.resolved(module, value.partition(":")[2].partition(".")[0])
                if target:
                    return self._write("path", *self._references(target))
            if MODULE_IN_TEXT.fullmatch(value) and self._sources.file(value):
                return self._write("path", *self._modules_named(value))
        self._write(f"{type(value).__name__}:{value!r}")

    def _modules_named(self, module: str) -> Iterator[Definition]:
        """Yield the module that a text names and, if it is a package, its direct submodules."""
        yield Definition(module, WHOLE)
        file = self._sources.file(module)
        if file and file.name == "__init__.py" and module.count(".") > 1:
            for inner in sorted(file.parent.glob("[!_]*.py")):
                yield Definition(f"{module}.{inner.stem}", WHOLE)

    def _name(self, node: ast.Name | ast.Attribute) -> None:
        if isinstance(node, ast.Name) and node.id == "__file__":
            self._write(Definition(self._source.name, KERNELS))
        target = self._target(node)
        if target is not None:
            self._write(*self._references(target))
        elif isinstance(node, ast.Name):
            self._write(f"name:{node.id}")
        else:
            self._write(f".{node.attr}(")
            self.node(node.value)
            self._write(")")

    def _references(self, target: Target | None) -> Iterator[Part]:
        match target:
            case Definition():
                yield "itself" if target == self._written else target
            case External():
                yield f"external:{target.name}"
            case Module():
                yield "module"
                if target.name.count("."):  # the whole module: attributes may be looked up by name
                    yield Definition(target.name, WHOLE)

    def _target(self, node: ast.AST) -> Target | None:
        """Return what a name or dotted name refers to outside the definition, or None."""
        if isinstance(node, ast.Name):
            return self._looked_up(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        match self._target(node.value):
            case External(name):
                return External(f"{name}.{node.attr}")
            case Module(name):
                return self._sources.resolved(name, node.attr)
        return None

    def _looked_up(self, name: str) -> Target | None:
        for scope in reversed(self._scopes):
            if name in scope:
                bound = scope[name]
                return self._sources.followed(bound) if bound else None
        if name not in self._source.bound:
            return None
        return self._sources.resolved(self._source.name, name)

    def _f_string(self, node: ast.JoinedStr) -> None:
        if self._in_message:
            return self._write("message")
        self._write("f(")
        text = ""
        for value in [*node.values, None]:
            if isinstance(value, ast.Constant):
                text += str(value.value)
                continue
            if text:
                self._write(f"str:{text!r}")
            text = ""
            if isinstance(value, ast.FormattedValue):
                self._write(f"{{{value.conversion}")
                self.node(value.value)
                if isinstance(value.format_spec, ast.JoinedStr) and value.format_spec.values:
                    self.node(value.format_spec)
                self._write("}")
        self._write(")")

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Write imports of other packages; outside of functions also imports of this project.

        In a function, the uses of an imported name are written in its place.
        """
        for bound in imports(node, self._source.package).values():
            target = self._sources.followed(bound)
            if isinstance(target, External) or self._in_class or not self._scopes:
                self._write("import", *self._references(target))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        given = node.args
        for decorator in getattr(node, "decorator_list", ()):
            self._write("@")
            self.node(decorator)
        self._write(f"{type(node).__name__}:{self._own_name(node)}(")
        for default in [*given.defaults, *filter(None, given.kw_defaults)]:
            self.node(default)
        kinds = given.posonlyargs, given.args, given.kwonlyargs
        starred = [argument and argument.arg for argument in (given.vararg, given.kwarg)]
        has_default = [default is not None for default in given.kw_defaults]
        names = [[argument.arg for argument in kind] for kind in kinds]
        self._write(f"{names}{starred}{len(given.defaults)}{has_default}")
        with self._scope(scope_of(node, self._source), in_class=False):
            if isinstance(node, ast.Lambda):
                self.node(node.body)
            else:
                self._body(node.body)
        self._write(")")

    def _class(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._write("@")
            self.node(decorator)
        self._write(f"class:{self._own_name(node)}(")
        for base in [*node.bases, *node.keywords]:
            self.node(base)
        self._write("){")
        # A class's names are not in the scope of its methods, and may first refer to outer ones.
        with self._scope({}, in_class=True):
            self._body([one for one in node.body if not self._is_unread(one, node)])
        self._write("}")

    def _is_unread(self, statement: ast.stmt, in_class: ast.ClassDef) -> bool:
        """Return whether a statement is a dataclass's card, of literals, which nobody reads."""
        if self._with_cards or not isinstance(statement, ast.AnnAssign):
            return False
        card, named = statement.value, [n for n in ast.walk(in_class) if isinstance(n, ast.Name)]
        kinds = [d.func if isinstance(d, ast.Call) else d for d in in_class.decorator_list]
        return (
            ast.unparse(statement.target) == CARD
            and [name.id for name in named].count(CARD) == 1
            and "ClassVar" in ast.unparse(statement.annotation)
            and External("dataclasses.dataclass") in map(self._target, kinds)
            and isinstance(card, ast.Call)
            and self._target(card.func) == CARD_TYPE
            and all(map(_is_literal, [*card.args, *(given.value for given in card.keywords)]))
        )

    def _own_name(self, node: ast.AST) -> str:
        name = getattr(node, "name", "")
        top = not self._scopes and self._written is not None and name == self._written.name
        return "" if top else name

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        self._write("first(")
        self.node(node.generators[0].iter)  # only this is evaluated in the outer scope
        self._write(")")
        targets = [generator.target for generator in node.generators]
        with self._scope(dict.fromkeys(bindings(targets)), self._in_class):
            self._fields(node)

    @contextmanager
    def _scope(self, scope: Scope, in_class: bool) -> Iterator[None]:
        before, self._in_class = self._in_class, in_class
        self._scopes.append(scope)
        yield
        self._scopes.pop()
        self._in_class = before

    @contextmanager
    def _message(self) -> Iterator[None]:
        self._in_message += 1
        yield
        self._in_message -= 1
