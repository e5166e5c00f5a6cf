"""The facts of each collected table, read from `tables.csv`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bnnbench.datasets.official.collected import lines
from bnnbench.datasets.origins import Origin

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
    """How labels were made, if by a rule or from densities in closed form."""
    same_as: str
    """Another table of the project with the same rows."""
    counted: bool
    """True if the table meets the rule of `bnnbench.datasets.health`."""
    reason: str
    """Why the table does not count."""

    @property
    def splits(self) -> int:
        """The number of splits: ten, or five beyond 3,000 rows."""
        return 5 if self.rows > MANY_ROWS else 10


ENTRIES: Mapping[str, Entry] = {
    entry.name: entry for entry in lines.read(Entry, Path(__file__).with_name("tables.csv"))
}
"""Name → entry, in the order of the file."""


def counted(task: Task) -> tuple[Entry, ...]:
    """Return the tables of a task that count, in the order of the file."""
    return tuple(entry for entry in ENTRIES.values() if entry.task == task and entry.counted)
