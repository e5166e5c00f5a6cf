"""Classes and functions by the names that stand in files, and the names by class."""

import dataclasses
import functools
import importlib
import sys
from collections.abc import Mapping
from typing import Any

from bnnbench.methods import METHODS
from bnnbench.methods.names import LAYERS, SETTINGS
from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.saved.errors import NotLoaded, NotSaved
from bnnbench.methods.saved.names import BUILT, FUNCTIONS, PARTS

TABLES = (PARTS, BUILT, LAYERS, SETTINGS, METHODS, PREDICTIVES)
PROJECT = "bnnbench."


def kind_of(name: str) -> type:
    """Return the class of a short name, or of another's "module:Class" that is imported already.

    Raises `NotLoaded` for any other name: nothing is imported because a file names it.
    """
    if path := _paths().get(name):
        return _attribute(path)
    module, colon, kind = name.partition(":")
    if not colon or f"{module}.".startswith(PROJECT):
        raise NotLoaded(f"there is no part called {name!r}: a newer bnnbench may know it")
    value: Any = sys.modules.get(module)
    for part in kind.split("."):
        value = vars(value).get(part) if hasattr(value, "__dict__") else None  # imports nothing
    if not isinstance(value, type) or not dataclasses.is_dataclass(value):
        raise NotLoaded(
            f"it has parts of the class {name}, and loading imports no code that a file names: "
            f"`import {module}` before loading, if you trust that module"
        )
    return value


def name_of(kind: type) -> str:
    """Return the short name of a class, or "module:Class" of another's dataclass.

    Raises `NotSaved` for a class without a description.
    """
    path = f"{kind.__module__}:{kind.__qualname__}"
    if name := _names().get(path):
        return name
    if path.startswith(PROJECT) or not dataclasses.is_dataclass(kind) or "<locals>" in path:
        raise NotSaved(
            f"a {path} cannot be saved: a saved posterior consists of arrays, plain values and "
            "dataclasses at the top of a module"
        )
    return path


def is_registered(name: str) -> bool:
    """Return whether a name is one of this project's tables."""
    return name in _paths()


def is_built(name: str) -> bool:
    """Return whether objects of a name are made by a constructor from its arguments."""
    return name in BUILT


def function_of(name: str) -> Any:
    """Return the function of a short name; raises `NotLoaded` for another name."""
    if name not in FUNCTIONS:
        raise NotLoaded(f"there is no function called {name!r}: a newer bnnbench may know it")
    return _attribute(FUNCTIONS[name])


def function_name(function: object) -> str | None:
    """Return the short name of a function; None if it has none."""
    return next((name for name, path in FUNCTIONS.items() if _attribute(path) is function), None)


def _attribute(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@functools.cache
def _paths() -> Mapping[str, str]:
    return {name: path for table in TABLES for name, path in table.items()}


@functools.cache
def _names() -> Mapping[str, str]:
    return {path: name for name, path in _paths().items()}
