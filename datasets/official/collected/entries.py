"""The facts of each collected table, from `tables.csv`."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from bnnbench.datasets.origins import Origin

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


Task = Literal["regression", "classification"]
Archive = Literal["evans", "islp", "pydataset", "keel"]

MANY_ROWS = 3_000
"""Tables with more rows have five splits in place of ten."""


@dataclass(frozen=True)
class Entry:
    """A line of `tables.csv`."""

    task: Task
    name: str
    rows: int
    columns: int
    """The number of columns besides the target, before any is dropped."""
    classes: int
    """The number of classes; 0 for regression."""
    column: str
    """The name of the target's column."""
    target: str
    unit: str
    origin: Origin
    """`repackaged`: columns were shifted or scaled, or have lost their decimal points. `subset`:
    rows drawn from a larger table."""
    archive: Archive
    member: str
    """The path in the archive or repository."""
    member_sha256: str
    member_bytes: int
    sha256: str
    """The checksum of the prepared file."""
    split_by: tuple[str, ...]
    """Columns whose equal values make rows one unit; empty if each row is one."""
    dropped: tuple[str, ...]
    """Columns that number rows or units, or are constant."""
    made_by: str
    """The rule or the densities from which labels were made; "" for observed labels."""
    same_as: str
    """Another table of the project with the same rows."""
    counted: bool
    """True if the table meets the rule of `bnnbench.datasets.health`."""

    @property
    def splits(self) -> int:
        """The number of splits: ten, or five beyond 3,000 rows."""
        return 5 if self.rows > MANY_ROWS else 10


ENTRIES: Mapping[str, Entry] = {
    entry.name: entry for entry in read(Entry, Path(__file__).with_name("tables.csv"))
}
"""Name → entry, in the order of the file."""


def counted(task: Task) -> tuple[Entry, ...]:
    """Return the tables of a task that count, in the order of the file."""
    return tuple(entry for entry in ENTRIES.values() if entry.task == task and entry.counted)
