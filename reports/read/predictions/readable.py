"""Predictions and points of data that a store holds; None where they cannot be read.

The list of damaged runs names such runs, so that tables and figures only leave them out.
"""

from typing import TYPE_CHECKING, Any

from bnnbench.reports.read.merge import packed_bytes, store_of
from bnnbench.suites.engine.store.curves import Curve, curve
from bnnbench.suites.engine.store.planes import PlanePoints, plane_points
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Damaged, Store

if TYPE_CHECKING:
    from bnnbench.suites.engine.run.packing import Predictions


def predictions_of(store: Store, record: Record) -> "Predictions | None":
    """Return condition → prediction and targets of a run; this imports torch if there are any."""
    try:
        packed_bytes(store, record.key)
        return store.predictions(record.key)
    except (FileNotFoundError, ValueError):  # the latter is `Damaged` or `NotImported`
        return None


def prediction_of(store: Store, record: Record, condition: str) -> tuple[Any, Any] | None:
    """Return a run's prediction of a condition and its targets."""
    return (predictions_of(store, record) or {}).get(condition)


def points_of(store: Store, record: Record) -> Curve | None:
    """Return the training and test points of a run; None also where inputs are several."""
    try:
        return curve(store_of(store, record.key), record)
    except Damaged:
        return None


def plane_of(store: Store, record: Record) -> PlanePoints | None:
    """Return the training points and the grid of a run whose predictions cover a plane."""
    try:
        return plane_points(store_of(store, record.key), record)
    except Damaged:
        return None
