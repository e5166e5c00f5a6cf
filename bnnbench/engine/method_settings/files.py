"""Methods and settings in a TOML file, the argument of `--settings`.

[ivon]
learning_rate = 0.3

[[ensemble]]              # double brackets: several rows of one method
size = 3
member = "adamw(epochs=5)"

["AdamW"]                 # a label of the suite
[swag.training]           # a nested setting, on the command line training.epochs
epochs = 40
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bnnbench.datasets.reading.whole_files import read_regular
from bnnbench.engine.method_settings.expressions import Misspelt, Spelled


def read(file: Path) -> tuple[Spelled, ...]:
    """Return the methods of a file in order. Raises `Misspelt` or OSError."""
    try:
        content = tomllib.loads(read_regular(file).decode())
        methods = tuple(Spelled(*pair) for pair in _pairs(content, file))
    except Misspelt:
        raise
    except RecursionError as error:
        raise Misspelt(f"{file}: its values are nested too deeply") from error
    except ValueError as error:  # also for text in another encoding and numbers of many digits
        raise Misspelt(f"{file} is not TOML: {error}") from error
    if not methods:
        raise Misspelt(f"{file} names no method; write, for example, [ivon]")
    return methods


def _pairs(content: Mapping[str, Any], file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in content.items():
        tables = value if isinstance(value, list) else [value]
        if not tables or not all(isinstance(table, dict) for table in tables):
            raise Misspelt(
                f"{file}: {name} is outside any method; write the method's name in brackets "
                "above it, as in [ivon]"
            )
        for table in tables:
            yield name, dict(_paths(table))


def _paths(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of each setting: {"a": {"b": 1}} yields "a.b"."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", _tuples(value)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
