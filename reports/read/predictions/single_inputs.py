"""The points of problems with a single input, which the store keeps beside predictions."""

import zipfile

from bnnbench.reports.read.merge import store_of
from bnnbench.suites.engine.store.curves import Curve, curve
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Store

UNREADABLE = (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile)
"""Errors raised by damaged files; the page lists such runs as damaged."""


def points_of(store: Store, record: Record) -> Curve | None:
    """Return the training and test points of a run; None unless they have a single input."""
    try:
        return curve(store_of(store, record.key), record)
    except UNREADABLE:
        return None
