"""Python environments of other libraries, whose methods are fitted in processes there.

An environment is named after its library, as the Python Package Index spells it, and given as the
path of its interpreter. A library without an environment is looked for among the packages of this
process, and still runs in a separate process.
"""

import difflib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

LIBRARIES: Mapping[str, str] = {
    "blackjax": "blackjax",
    "ivon-opt": "ivon",
    "laplace-torch": "laplace",
    "mapie": "mapie",
    "numpyro": "numpyro",
    "posteriors": "posteriors",
    "torch-uncertainty": "torch_uncertainty",
}
"""Library → the module to import."""

VARIABLE = "BNNBENCH_ENVS"
"""Environment variable with entries NAME=path, separated as in PATH."""


class NoSuchEnvironment(ValueError):
    """An environment has a name that no library has, or a path without an interpreter."""


def current() -> dict[str, str]:
    """Return library → interpreter from the environment variable; raises `NoSuchEnvironment`."""
    entries = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    return dict(checked(entry) for entry in entries)


def add(environments: Mapping[str, str]) -> None:
    """Add environments to the variable, for this process and the processes that it starts.

    They replace others of the same name.
    """
    entries_by_name = current() | dict(environments)
    entries = (f"{name}={path}" for name, path in entries_by_name.items())
    os.environ[VARIABLE] = os.pathsep.join(entries)


def checked(entry: str) -> tuple[str, str]:
    """Return the library and the interpreter of an entry NAME=path.

    The path is made absolute, and links are not followed, since the link defines the environment.
    Raises `NoSuchEnvironment`.
    """
    name, equals, path = entry.partition("=")
    if not (name and equals and path):
        raise NoSuchEnvironment(f"needed NAME=path/to/python; got {entry!r}")
    if name not in LIBRARIES:
        close = difflib.get_close_matches(name, LIBRARIES, n=1)
        hint = f", did you mean {close[0]!r}?" if close else ""
        raise NoSuchEnvironment(
            f"no library is called {name!r}{hint}; environments are for {', '.join(LIBRARIES)}"
        )
    interpreter = Path(path).expanduser().absolute()
    if interpreter.is_dir():
        raise NoSuchEnvironment(
            f"{path} is a folder: give the interpreter in it, such as {path}/bin/python"
        )
    if not (interpreter.is_file() and os.access(interpreter, os.X_OK)):
        raise NoSuchEnvironment(
            f"{path} is not an executable file; {name} needs an interpreter: {cure(name)}"
        )
    return name, str(interpreter)


def interpreter_of(library: str) -> str | None:
    """Return the interpreter for a library; None if absent.

    This is the interpreter given for it, else this process's if the library is installed there.
    """
    if interpreter := current().get(library):
        return interpreter
    return sys.executable if importlib.util.find_spec(LIBRARIES[library]) else None


def cure(library: str) -> str:
    """Return the commands that make an environment for a library."""
    return (
        f"python -m venv ENV && ENV/bin/pip install {library}, then --env {library}=ENV/bin/python"
    )
