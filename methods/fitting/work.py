"""The work of a fit, counted by its method; it does not depend on the machine or its load."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

UNITS: Mapping[str, str] = {
    "gradient_rows": "gradients of the loss of one row, in the weights of one network",
    "likelihood_rows": "losses of one row by one network, without their gradient",
    "curvature_rows": "rows that a matrix of second derivatives adds up, of one network",
    "row_updates": "updates of the distribution of all weights by one row",
    "message_rows": "rounds of messages to one row and back",
    "leapfrog_steps": "leapfrog steps of one chain, each with the gradients of all rows",
    "tree_rows": "rows from which one decision tree is grown",
    "factorisations": "factorisations of a matrix of all rows, inducing points or features",
}
"""Unit of work → its meaning."""


class Tally:
    """Work by unit; threads may add to it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, unit: str, number: int) -> None:
        """Add to a unit; raises ValueError for a unit that is not in `UNITS`."""
        if unit not in UNITS:
            raise ValueError(f"{unit!r} is not a unit of work; choose from {', '.join(UNITS)}")
        with self._lock:
            self.counts[unit] += number


_tally: ContextVar[Tally | None] = ContextVar("tally", default=None)


def count(unit: str, number: int) -> None:
    """Add to the work of the fit that is being counted, if any."""
    if tally := _tally.get():
        tally.add(unit, number)


@contextmanager
def counting() -> Iterator[Tally]:
    """Count the work of the fits inside the block, and of threads that copy its context."""
    tally = Tally()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)
