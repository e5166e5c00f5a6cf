"""Data points stored with predictions; None if they cannot be read."""

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points import Curve, PlanePoints, curve, plane_points
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.reports.read.merge import store_of


def points_of(store: Store, record: Record) -> Curve | None:
    """Return the training and test points of a run; None also if there are several inputs."""
    try:
        return curve(store_of(store, record.key), record)
    except CorruptRecord:
        return None


def plane_of(store: Store, record: Record) -> PlanePoints | None:
    """Return the training points and the grid of a run whose predictions cover a plane."""
    try:
        return plane_points(store_of(store, record.key), record)
    except CorruptRecord:
        return None
