"""Records with other values of some fields, under their names in files."""

from typing import Any

from bnnbench.engine.records.flat import flattened, gathered
from bnnbench.engine.records.record import Record


def changed(record: Record, **fields: Any) -> Record:
    return gathered(**flattened(record) | fields)
