"""The file runs.csv: a line for each run of a report, with its cost and provenance."""

from collections.abc import Iterable, Mapping

from bnnbench.engine.records.cost import COSTS
from bnnbench.engine.records.record import Record

PLACES = ("machine", "cpu", "cpu_model", "device")
RUN_COLUMNS = (
    *("key", "suite", "profile", "dataset", "origin", "method", "fold", "seed", "status"),
    *COSTS,
    *("commit", *PLACES, "finished", "store"),
)


def run_rows(
    records: Iterable[Record], places: Mapping[str, str] | None = None
) -> list[tuple[object, ...]]:
    """Return one row per run, in the order of names; `places` maps keys to stores."""
    return sorted(
        (_row(record, (places or {}).get(record.key, "")) for record in records),
        key=lambda row: (row[1:8], row[0]),
    )


def _row(record: Record, store: str) -> tuple[object, ...]:
    provenance, cost = record.circumstances.provenance, record.cost
    return (
        *(record.key, record.suite, record.profile, record.dataset, record.circumstances.origin),
        *(record.method, record.fold, record.seed, record.outcome.status),
        *("" if (v := cost and cost.value(name)) is None else v for name in COSTS),
        *(str(provenance.get(name, "")) for name in ("commit", *PLACES, "finished")),
        store,
    )
