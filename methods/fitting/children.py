"""Living child processes of methods, and the costs that they report.

A stopwatch counts the processor time of children that have ended; living ones are asked here.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable
from weakref import WeakSet


@runtime_checkable
class Child(Protocol):
    """A process that a method has started and that responds until its posterior is dropped."""

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the process so far; 0 once it has ended."""
        ...

    @property
    def fit_bytes(self) -> float:
        """The increase of its resident memory during the fit."""
        ...

    @property
    def environment(self) -> Mapping[str, object]:
        """The interpreter and its packages, as plain data for a record."""
        ...

    @property
    def library(self) -> str:
        """The library that it runs."""
        ...


_living: WeakSet[Child] = WeakSet()
_starts = [0.0, 0.0]


def register(child: Child) -> None:
    """Track a child while it lives."""
    _living.add(child)


def started(seconds: float, cpu_seconds: float) -> None:
    """Count a child's start: its interpreter, and the imports before it can fit."""
    _starts[0] += seconds
    _starts[1] += cpu_seconds


def starts() -> tuple[float, float]:
    """Return the wall-clock and processor seconds of all children's starts so far."""
    return _starts[0], _starts[1]


def unregister(child: Child) -> None:
    """Drop a child that is about to end; the system then reports its processor time."""
    _living.discard(child)


def cpu_seconds() -> float:
    """Return the processor time of all living children."""
    return sum(child.cpu_seconds for child in list(_living))


def fit_bytes() -> float:
    """Return the total memory that the fits of all living children needed."""
    return sum(child.fit_bytes for child in list(_living))


def environments() -> dict[str, Mapping[str, object]]:
    """Return library → interpreter and packages of all living children."""
    return {child.library: child.environment for child in list(_living)}
