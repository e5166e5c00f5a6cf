"""Median costs of the finished runs of this repository, one per line of `shipped_costs.csv`.

The table is made from docs/bundle by `python -m docs.generate.shipped_costs`. Costs are scaled to
the rows and epochs of a run, and to the speed of this machine.
"""

import csv
import functools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def epochs_in(settings: object) -> float | None:
    """Return the maximum number of epochs in a method's settings, at any depth; None if absent."""
    if not isinstance(settings, Mapping):
        return None
    epochs = settings.get("epochs")
    if isinstance(epochs, int | float) and epochs > 0:
        return float(epochs)
    inner_epochs = [inner for value in settings.values() if (inner := epochs_in(value)) is not None]
    return max(inner_epochs, default=None)


def row_visits(run: Mapping[str, object], rows: int) -> float | None:
    """Return the number of row visits of a described run.

    None for a method without epochs, whose time need not be proportional to row visits: the time
    of a Gaussian process grows with the cube of the rows.
    """
    epochs = epochs_in(run["method"])
    rule = run.get("acquisition")
    rounds = rule.get("rounds", 0) if isinstance(rule, Mapping) else 0
    rounds = rounds if isinstance(rounds, int | float) else 0
    return None if epochs is None else max(rows, 1) * epochs * (1 + rounds)


ROUNDS = 20
"""Training steps per measurement."""

REFERENCE_SECONDS = 88e-6
"""Processor seconds of a step on the machine whose costs are in `shipped_costs.csv`."""


def step_seconds(seconds: float = 1.0) -> float:
    """Return the minimum processor seconds of a training step of a small network.

    Measures for about this many seconds on one thread. Other load on the machine slows down some
    measurements and speeds up none.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(32, 20, generator=rng)
    first = torch.randn(20, 50, generator=rng).requires_grad_()
    second = torch.randn(50, 1, generator=rng).requires_grad_()
    least, end = float("inf"), time.perf_counter() + seconds
    try:
        while True:
            begin = time.process_time()
            for _ in range(ROUNDS):
                loss = ((inputs @ first).relu() @ second).square().mean()
                torch.autograd.grad(loss, (first, second))
            least = min(least, (time.process_time() - begin) / ROUNDS)
            if time.perf_counter() >= end:
                return least
    finally:
        torch.set_num_threads(threads)


def slowness() -> float:
    """Return the time on this machine relative to the machine of the finished runs."""
    return step_seconds() / REFERENCE_SECONDS
