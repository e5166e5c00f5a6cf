"""The end of a failure's message, as a terminal shows it."""

from bnnbench.engine.records.record import Record

LINES, CHARACTERS = 12, 500
"""Maximum number of traceback lines printed before the reason, and their length."""


def reason_of(record: Record) -> str:
    """Return the last line of a run's error."""
    return record.outcome.last_line[:CHARACTERS] or "no reason given"


def frames_of(record: Record) -> tuple[str, ...]:
    """Return the lines before the reason, with the innermost frames; none without frames."""
    lines = (record.outcome.error or "").strip().splitlines()
    return (
        tuple(line[:CHARACTERS] for line in lines[-LINES - 1 : -1])
        if record.outcome.failed_at
        else ()
    )
