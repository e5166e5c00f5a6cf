"""Re-runs of a bundle's runs and their outcomes: a file next to the runs."""

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.store.bundles import COPY_AGAIN
from bnnbench.engine.store.store import CorruptRecord

NAME = "repeated.csv"
NUMBERS = ("recorded", "repeated", "spreads")

Outcome = Literal["identical", "within rounding", "differs", "not repeated"]
OUTCOMES: tuple[Outcome, ...] = ("identical", "within rounding", "differs", "not repeated")


@dataclass(frozen=True)
class Rerun:
    """A run of a bundle that was re-run, or could not be, and the outcome."""

    profile: str
    method: str
    dataset: str
    fold: int
    seed: int
    key: str
    outcome: Outcome
    score: str = ""
    """The score farthest from its record, in spreads over runs; "" if none differs."""
    recorded: float | None = None
    repeated: float | None = None
    spreads: float | None = None
    """Difference of recorded and repeated score, divided by the standard deviation of that score
    over the method's runs on this data set."""
    reason: str = ""
    """The reason why a run was not re-run."""
    code_sha256: str = ""
    """Digest of the sources that were run: the method's and the engine's."""
    commit: str = ""
    cpu: str = ""
    cpu_of_record: str = ""
    finished: str = ""


def read(folder: Path) -> tuple[Rerun, ...]:
    """Return the re-runs in a bundle's folder; empty if there are none.

    Raises `CorruptRecord`.
    """
    path = folder / NAME
    if not path.is_file():
        return ()
    try:
        with path.open(newline="") as file:
            return tuple(map(_rerun, csv.DictReader(file)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptRecord(path, error, COPY_AGAIN) from error


def write(folder: Path, reruns: Iterable[Rerun]) -> None:
    """Write the re-runs to a bundle's folder in order of profile, method and key."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, [f.name for f in fields(Rerun)], lineterminator="\n")
    table.writeheader()
    for rerun in sorted(reruns, key=lambda r: (r.profile, r.method, r.key)):
        row = asdict(rerun)
        table.writerow({name: "" if value is None else value for name, value in row.items()})
    write_whole(folder / NAME, text.getvalue().encode())


def _rerun(row: dict[str, str]) -> Rerun:
    if row["outcome"] not in OUTCOMES:
        raise ValueError(f"unknown outcome {row['outcome']!r}; there are {', '.join(OUTCOMES)}")
    values: dict[str, Any] = dict(row)
    values |= {name: float(row[name]) if row[name] else None for name in NUMBERS}
    values |= {name: int(row[name]) for name in ("fold", "seed")}
    return Rerun(**values)
