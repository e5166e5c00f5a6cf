"""Times at which no data may be loaded: a method fits with the rows it was given."""

from collections.abc import Iterator
from contextlib import contextmanager

_withheld = False


class DataWithheld(RuntimeError):
    """A method asked a source for data while it was fitted."""


@contextmanager
def withheld() -> Iterator[None]:
    """Refuse to load any data in the block."""
    global _withheld
    before, _withheld = _withheld, True
    try:
        yield
    finally:
        _withheld = before


def refuse() -> None:
    """Raise DataWithheld within such a block."""
    if _withheld:
        raise DataWithheld(
            "a method asked for data while it was fitted: it must use the rows of its problem alone"
        )
