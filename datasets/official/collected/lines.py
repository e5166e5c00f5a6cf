"""Dataclasses of plain values as lines of a csv file; items of a tuple are separated by blanks."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

Line = TypeVar("Line")


def read(kind: type[Line], path: Path) -> list[Line]:
    """Return the lines of a file as values of a dataclass."""
    hints = get_type_hints(kind)
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [kind(**{name: _value(hint, row[name]) for name, hint in hints.items()}) for row in rows]


def write(kind: type, values: Iterable[Any], path: Path) -> None:
    """Write values of a dataclass as lines of a file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [f.name for f in fields(kind)], lineterminator="\n")
        table.writeheader()
        table.writerows({n: _text(v) for n, v in asdict(value).items()} for value in values)


def _value(hint: Any, text: str) -> object:
    if hint in (int, float):
        return hint(text)
    if hint is bool:
        return text == "yes"
    return tuple(text.split()) if get_origin(hint) is tuple else text


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(value) if isinstance(value, tuple) else str(value)
