"""Descriptions of methods, from the docstrings of its class and module; nothing is imported."""

import ast
import functools
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.methods import METHODS
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import WRAPPERS


@dataclass(frozen=True)
class About:
    """The class behind a method, and what its documentation says."""

    name: str = ""
    """Registered name, "" for a method of a stranger."""
    module: str = ""
    kind: str = ""
    """Name of the class."""
    summary: str = ""
    """The first paragraph of its docstring."""
    source: str = ""
    """The publication, as the module's docstring names it."""
    wrapped: tuple[str, ...] = ()
    """Registered names of what is around it, such as a search for settings."""


def about(description: object) -> About:
    """Return what is known of a method, from its settings in a record."""
    wrapped: list[str] = []
    while isinstance(description, Mapping) and str(description.get("type")) in WRAPPERS:
        wrapped.append(str(description["type"]))
        inner = description.get("method")
        if inner is None:
            break
        description = inner
    name = description.get("type") if isinstance(description, Mapping) else None
    if not isinstance(name, str) or name not in METHODS:
        return About(wrapped=tuple(wrapped))
    module, kind = METHODS[name].split(":")
    summary, source = _documented(module, kind)
    return About(name, module, kind, summary, source, tuple(wrapped))


@functools.cache
def _documented(module: str, kind: str) -> tuple[str, str]:
    """Return the first paragraph of a class's docstring, and the source that its module names."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return "", ""
    with open(spec.origin, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    of_module = ast.get_docstring(tree) or ""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    text = (ast.get_docstring(classes[kind]) if kind in classes else "") or ""
    match = re.search(r"Source: (.+?)(?:\n\n|$)", f"{text}\n\n{of_module}", re.DOTALL)
    source = _line(match.group(1)) if match else ""
    titled = re.sub(r"paper (\d{3})", lambda mention: labels.paper(mention.group(1)), source)
    return _line(text.partition("\n\n")[0]), titled


def _line(text: str) -> str:
    return " ".join(text.split())
