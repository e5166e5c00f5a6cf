"""The points of problems of a single input, as the store keeps them beside predictions."""

import zipfile

from bnnbench.reports.read.merge import store_of
from bnnbench.suites.engine.store.curves import Curve, curve
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Store

UNREADABLE = (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile)
"""Errors that damaged files raise; the page names the runs in its list of damage."""


def points_of(store: Store, record: Record) -> Curve | None:
    """Return the points that a run was fitted to and tested at, None unless of a single input."""
    try:
        return curve(store_of(store, record.key), record)
    except UNREADABLE:
        return None
