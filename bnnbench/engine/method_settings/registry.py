"""Classes that can be named on the command line."""

from collections.abc import Mapping
from pathlib import Path

from bnnbench.methods import METHODS, method_type, plug_ins
from bnnbench.methods.names import LAYERS, SETTINGS
from bnnbench.methods.own_files import ExitedWhileImporting, module_of
from bnnbench.wording import UsageError, nearest


def known_methods() -> Mapping[str, str]:
    """Return name → "module:Class" for the methods of this project and of plug-ins."""
    return {**plug_ins(), **METHODS}


def registered(name: str) -> str | None:
    """Return the registered method name equal to `name` up to case; None if absent."""
    spelled = {known.casefold(): known for known in known_methods()}
    return spelled.get(name.casefold())


def class_path(name: str) -> str:
    """Return "module:Class" of a method, of a setting's class, or of a class anywhere.

    The class may be named by its file, as in `mine.py:Method`. Raises UsageError for an unknown
    name.
    """
    if method := registered(name):
        return known_methods()[method]
    if path := {**LAYERS, **SETTINGS}.get(name.casefold()):
        return path
    module, colon, kind = name.rpartition(":")
    if not colon:
        raise UsageError(nearest(name, [*known_methods(), *SETTINGS]))
    if not module.endswith(".py"):
        return name
    try:
        return f"{module_of(Path(module).expanduser())}:{kind}"
    except ValueError as error:
        raise UsageError(str(error)) from error


def class_of(name: str) -> type:
    """Return the class that a name stands for. Raises UsageError if it cannot be imported."""
    path = class_path(name)
    try:
        return method_type(path)
    except ExitedWhileImporting as error:
        raise UsageError(f"cannot construct {path}: {error}") from error
    except Exception as error:  # importing a module may raise anything
        raise UsageError(f"cannot construct {path}: {type(error).__name__}: {error}") from error
