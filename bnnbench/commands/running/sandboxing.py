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
    """Return the user's files and folders of data among the sources of a suite."""
    return [Path(path) for case in suite.cases for path in _paths(case.source)]


def _paths(value: Any) -> Iterator[str]:
    """Yield the fields named `path` of a dataclass, and of dataclasses and mappings inside."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if isinstance(path := fields.get("path"), str):
            yield path
        yield from _paths(fields)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _paths(inner)
