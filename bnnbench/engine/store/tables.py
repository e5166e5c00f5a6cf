"""metrics.csv and costs.csv: the store as tidy tables."""

import csv
import io
from collections.abc import Iterable, Sequence

from bnnbench.datasets.reading.third_party_text import cell
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.store.store import Store
from bnnbench.metrics import LISTED

METRIC_COLUMNS = (
    *("suite", "profile", "dataset", "origin", "condition"),
    *("method", "seed", "fold", "metric", "value", "unit"),
)
COST_COLUMNS = (
    *("suite", "profile", "dataset", "origin", "method", "seed", "fold", "status"),
    *COSTS,
    *("device", "cpu", "cpu_model"),
)

Row = tuple[str | int | float, ...]


def write_tables(store: Store) -> None:
    """Rewrite both tables from every current record that can be read.

    metrics.csv has no timings, so that equal results give equal bytes. Each file is written
    atomically.
    """
    records = newest(store.readable()[0])
    tables = {
        "metrics.csv": csv_text(METRIC_COLUMNS, metric_rows(records)),
        "costs.csv": csv_text(COST_COLUMNS, cost_rows(records)),
    }
    with store.writing():
        store.folder.mkdir(parents=True, exist_ok=True)
        for name, text in tables.items():
            write_whole(store.folder / name, text.encode())


def metric_rows(records: Iterable[Record]) -> list[Row]:
    """Return one sorted row per score; `origin` is the origin of the condition's data."""
    return sorted(
        (
            *(
                r.suite,
                r.profile,
                r.dataset,
                r.circumstances.condition_origins[condition],
                condition,
            ),
            *(r.method, r.seed, r.fold, metric, value, _unit(metric)),
        )
        for r in records
        for condition, scores in r.outcome.scores.items()
        for metric, value in scores.items()
    )


def cost_rows(records: Iterable[Record]) -> list[Row]:
    """Return sorted cost rows for runs with a recorded cost."""
    return sorted(
        (
            *(
                r.suite,
                r.profile,
                r.dataset,
                r.circumstances.origin,
                r.method,
                r.seed,
                r.fold,
                r.outcome.status,
            ),
            *("" if (value := r.cost.value(name)) is None else value for name in COSTS),
            *(
                str(r.circumstances.provenance.get(name, ""))
                for name in ("device", "cpu", "cpu_model")
            ),
        )
        for r in records
        if r.cost is not None
    )


def _unit(metric: str) -> str:
    """Return the metric's unit; "" for a metric that no longer exists."""
    return LISTED[metric].unit if metric in LISTED else ""


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return columns and rows as CSV in which no cell is a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(cell, row) for row in rows)
    return buffer.getvalue()
