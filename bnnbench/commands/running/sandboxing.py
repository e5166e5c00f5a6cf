"""The option `--sandbox`: the paths that it hides from third-party code."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.engine.run.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from bnnbench.engine.declare.grid import Suite

HELP = (
    "confine processes that run third-party code: they can read no data and results, open no "
    "socket, and write only to a temporary folder of their own (Linux 6.2 or newer)"
)


def around(hidden: Iterable[Path]) -> Sandbox:
    """Return a sandbox in which these files and folders cannot be read."""
    return Sandbox(tuple(str(path.absolute()) for path in hidden))


def paths_of(suite: "Suite") -> list[Path]:
    """Return the user's files and folders of data among the sources and conditions of a suite."""
    parts = [case.source for case in suite.cases], [e.condition for e in suite.evaluations]
    return [Path(file) for file in _files(parts)]


def _files(value: Any) -> Iterator[str]:
    """Yield the `files` of a dataclass, and of all inside; official data have no texts there."""
    if dataclasses.is_dataclass(value):
        files = getattr(value, "files", ())
        yield from (f for f in files if isinstance(f, str)) if isinstance(files, tuple) else ()
        yield from _files([getattr(value, field.name) for field in dataclasses.fields(value)])
    elif isinstance(value, Mapping):
        yield from _files([*value.values()])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _files(inner)
