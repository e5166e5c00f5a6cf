"""Progress reports of long fits to a listener."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

Listener = Callable[[int, int, float], None]
"""Function of the finished epochs, the total epochs, and the mean training loss."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(epochs_done: int, total: int, loss: float) -> None:
    """Inform the listener, if there is one, that `done` of `total` epochs are finished."""
    if listener := _listener.get():
        listener(epochs_done, total, loss)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener` for every report inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def part_of(listener: Listener, number: int, parts: int) -> Listener:
    """Return a listener for fit `number`, from 0, of several that share `listener`."""
    return lambda done, total, loss: listener(number * total + done, parts * total, loss)


@contextmanager
def part(number: int, parts: int) -> Iterator[None]:
    """Report progress inside the block as fit `number`, from 0, of several."""
    outer = _listener.get()
    with listening(part_of(outer, number, parts)) if outer else nullcontext():
        yield
