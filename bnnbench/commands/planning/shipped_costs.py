"""Median costs of the finished runs of this repository, one per line of `shipped_costs.csv`.

The table is made from docs/bundle by `python -m docs.generate.shipped_costs`.
"""

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bnnbench.commands.planning.row_visits import epochs_in
from bnnbench.engine.declare.grid import Run

TABLE = Path(__file__).with_suffix(".csv")
COLUMNS = ("suite", "profile", "dataset", "method", "rows", "epochs", "seconds", "bytes")


@dataclass(frozen=True)
class Shipped:
    """Median cost of a method's finished runs on a data set, on the machine that ran them."""

    rows: int
    """Training rows."""
    epochs: float | None
    """None if the settings were not recorded or the method has no epochs."""
    seconds: float
    """Processor seconds to fit and predict."""
    bytes: float


Key = tuple[str, str, str, str]
"""Suite, profile, data set, label."""

ALIKE = 0.1
"""Relative difference in rows up to which no scaling is done; folds differ by as much."""


@functools.cache
def shipped_costs() -> Mapping[Key, Shipped]:
    """Return the table; the file is read once."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["suite"], row["profile"], row["dataset"], row["method"]): Shipped(
                int(row["rows"]),
                float(row["epochs"]) if row["epochs"] else None,
                float(row["seconds"]),
                float(row["bytes"]),
            )
            for row in csv.DictReader(file)
        }


def shipped_cost(run: Run, rows: int | None) -> Shipped | None:
    """Return the recorded cost of a comparable run; None if there is none.

    Rows and epochs scale it only for a method that passes over the rows epoch by epoch: the time
    of others, such as Gaussian processes, does not grow in proportion.
    """
    shipped = shipped_costs().get((run.suite, run.profile, run.case.name, run.label))
    if shipped is None or run.description.get("modules"):
        return None
    settings = run.description["method"]
    epochs = epochs_in(settings)
    factor = 1.0
    if shipped.epochs is not None and epochs != shipped.epochs:
        if epochs is None:
            return None
        factor *= epochs / shipped.epochs
    if rows and abs(rows - shipped.rows) > ALIKE * shipped.rows:
        if epochs is None:
            return None
        factor *= rows / shipped.rows
    return Shipped(rows or shipped.rows, epochs, factor * shipped.seconds, shipped.bytes)
