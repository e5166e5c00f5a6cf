"""metrics.csv and costs.csv: the store as tidy tables."""

import csv
import io
from collections.abc import Iterable

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.metrics import LISTED
from bnnbench.suites.engine.store.record import COSTS, Record
from bnnbench.suites.engine.store.store import Store

METRIC_COLUMNS = (
    *("suite", "profile", "dataset", "origin", "condition"),
    *("method", "seed", "fold", "metric", "value", "unit"),
)
COST_COLUMNS = (
    *("suite", "profile", "dataset", "origin", "method", "seed", "fold", "status"),
    *COSTS,
    "device",
)

Row = tuple[str | int | float, ...]


def write_tables(store: Store) -> None:
    """Rewrite both tables from every current record, each whole or not at all.

    metrics.csv holds no timings, so that equal results give equal bytes.
    """
    records = store.current()
    store.folder.mkdir(parents=True, exist_ok=True)
    write_whole(store.folder / "metrics.csv", _text(METRIC_COLUMNS, metric_rows(records)))
    write_whole(store.folder / "costs.csv", _text(COST_COLUMNS, cost_rows(records)))


def metric_rows(records: Iterable[Record]) -> list[Row]:
    """Return one sorted row per score; `origin` is that of the data it was scored on."""
    return sorted(
        (
            *(r.suite, r.profile, r.dataset, r.condition_origins[condition], condition),
            *(r.method, r.seed, r.fold, metric, value, _unit(metric)),
        )
        for r in records
        for condition, scores in r.scores.items()
        for metric, value in scores.items()
    )


def cost_rows(records: Iterable[Record]) -> list[Row]:
    """Return one sorted row per run whose cost is known."""
    return sorted(
        (
            *(r.suite, r.profile, r.dataset, r.origin, r.method, r.seed, r.fold, r.status),
            *("" if (value := getattr(r.cost, name)) is None else value for name in COSTS),
            str(r.provenance.get("device", "")),
        )
        for r in records
        if r.cost is not None
    )


def _unit(metric: str) -> str:
    """Return the metric's unit; a metric that exists no more has none."""
    return LISTED[metric].unit if metric in LISTED else ""


def _text(columns: tuple[str, ...], rows: list[Row]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return buffer.getvalue().encode()
