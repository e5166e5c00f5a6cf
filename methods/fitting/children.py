"""Processes that methods have started and that still live, and the costs that they report.

A stopwatch sees the processor time of children that have ended; what lives on is asked here.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable
from weakref import WeakSet


@runtime_checkable
class Child(Protocol):
    """A process that a method has started, and that answers until its posterior is dropped."""

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the process so far; 0 once it has ended."""
        ...

    @property
    def fit_bytes(self) -> float:
        """The rise of its resident memory while it fitted."""
        ...

    @property
    def environment(self) -> Mapping[str, object]:
        """The interpreter and its packages, as plain data for a record."""
        ...

    @property
    def library(self) -> str:
        """The library that it is for."""
        ...


_living: WeakSet[Child] = WeakSet()
_starts = [0.0, 0.0]


def register(child: Child) -> None:
    """Remember a child while it lives."""
    _living.add(child)


def started(seconds: float, cpu_seconds: float) -> None:
    """Count the start of a child: its interpreter, and the imports before it could fit."""
    _starts[0] += seconds
    _starts[1] += cpu_seconds


def starts() -> tuple[float, float]:
    """Return the seconds that the starts of all children so far took, and those of processors."""
    return _starts[0], _starts[1]


def unregister(child: Child) -> None:
    """Forget a child that is about to end; its processor time is then the system's to tell."""
    _living.discard(child)


def cpu_seconds() -> float:
    """Return the processor time of all living children."""
    return sum(child.cpu_seconds for child in list(_living))


def fit_bytes() -> float:
    """Return the memory that the fits of all living children needed, together."""
    return sum(child.fit_bytes for child in list(_living))


def environments() -> dict[str, Mapping[str, object]]:
    """Return library → interpreter and packages of all living children."""
    return {child.library: child.environment for child in list(_living)}
