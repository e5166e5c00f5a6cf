"""Descriptions of methods, read from the docstrings of class and module without importing them."""

import ast
import functools
import importlib.util
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.methods import METHODS
from bnnbench.methods.card import card_of
from bnnbench.reports.style import labels


@dataclass(frozen=True)
class About:
    """The class behind a method, and its documentation."""

    name: str = ""
    """Registered name; "" for a third-party method."""
    module: str = ""
    kind: str = ""
    """Name of the class."""
    of_module: tuple[str, ...] = ()
    """Paragraphs of the module's docstring, without sources: what the method is."""
    of_class: tuple[str, ...] = ()
    """Paragraphs of the class's docstring, without sources: how it is set up here."""
    source: str = ""
    """The publications named in its docstrings, with their equations or algorithms."""
    wrapped: tuple[str, ...] = ()
    """Registered names of its wrappers, such as a search for settings."""

    @property
    def sentences(self) -> Sequence[str]:
        """The first paragraph of each docstring: one on the method, one on its settings here."""
        return [of[0] for of in (self.of_module, self.of_class) if of]

    @property
    def details(self) -> Sequence[str]:
        """All further paragraphs, with the formulas."""
        return [*self.of_module[1:], *self.of_class[1:]]


def about(description: object) -> About:
    """Return the available description of a method, from its settings in a record."""
    wrapped: list[str] = []
    while isinstance(description, Mapping) and card_of(str(description.get("type"))).around:
        wrapped.append(str(description["type"]))
        inner = description.get("method")
        if inner is None:
            break
        description = inner
    name = description.get("type") if isinstance(description, Mapping) else None
    if not isinstance(name, str) or name not in METHODS:
        return About(wrapped=tuple(wrapped))
    module, kind = METHODS[name].split(":")
    return About(name, module, kind, *_documented(module, kind), tuple(wrapped))


@functools.cache
def _documented(module: str, kind: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the paragraphs of a module's and a class's docstring, and the source they name."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return (), (), ""
    with open(spec.origin, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    of_module = ast.get_docstring(tree) or ""
    of_class = (ast.get_docstring(classes[kind]) if kind in classes else "") or ""
    return _paragraphs(of_module), _paragraphs(of_class), _source(of_class) or _source(of_module)


def _paragraphs(text: str) -> tuple[str, ...]:
    """Return the paragraphs of a docstring, each cut before it names its source."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text))
    said = (re.split(r"(?:^|(?<=\s))Sources?\b[^.:]{0,20}: ", one)[0].strip() for one in parts)
    return tuple(_titled(one) for one in said if one)


def _source(text: str) -> str:
    """Return the text after "Source:" up to the end of its paragraph, with the titles of papers."""
    match = re.search(r"\bSources?[^.:]*:\s+(.*?)(?:\n\s*\n|\Z)", text, re.DOTALL)
    return _titled(" ".join(match[1].split())) if match else ""


def _titled(text: str) -> str:
    """Return the text with a paper's title in place of its number."""
    return re.sub(
        r"(?:seed )?[Pp]aper (\d{3})", lambda mention: f"“{labels.PAPERS[mention[1]]}”", text
    )
