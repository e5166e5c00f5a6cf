"""Stored predictions; None if they cannot be read.

The list of damaged runs names such runs; tables and figures only leave them out.
"""

from typing import TYPE_CHECKING, Any

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.reports.read.merge import packed_bytes

if TYPE_CHECKING:
    from bnnbench.engine.run.packing import Predictions


def predictions_of(store: Store, record: Record) -> "Predictions | None":
    """Return condition → prediction and targets of a run; torch is imported if there are any."""
    try:
        packed_bytes(store, record.key)
        return store.predictions(record.key)
    except (OSError, ValueError):  # the latter is `CorruptRecord` or `NotImported`
        return None


def prediction_of(store: Store, record: Record, condition: str) -> tuple[Any, Any] | None:
    """Return a run's prediction and targets under a condition."""
    return (predictions_of(store, record) or {}).get(condition)
