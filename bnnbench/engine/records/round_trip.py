"""Records that can be read back, checked before they are written."""

from bnnbench.datasets.reading.shape import misfits
from bnnbench.engine.records.flat import flattened
from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import check_identity, from_json, to_json

MESSAGES = ("error", "failed_at", "not_scored", "unanswered")
"""Fields whose texts may have any length."""

MOST_PLACES = 3


class NotReadable(ValueError):
    """A record that would be refused when it is read; the message names entries and reasons."""


def readable_json(record: Record) -> str:
    """Return the record as JSON that can be read back. Raises `NotReadable`."""
    try:
        text = to_json(record)
        check_identity(from_json(text), record.key)
    except (ValueError, TypeError, RecursionError) as error:
        reasons = "; ".join(_places(record)) or str(error)
        raise NotReadable(f"the run's record could not be read back: {reasons}") from error
    return text


def _places(record: Record) -> list[str]:
    """Return the entries that a record cannot have, each with a reason."""
    fields = {n: value for n, value in flattened(record).items() if n not in MESSAGES}
    places = dict.fromkeys(place for n, value in fields.items() for place in misfits(value, n))
    return list(places)[:MOST_PLACES]
