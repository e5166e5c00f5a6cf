"""Block data loading where third-party methods run: they see only the rows they are given."""

from collections.abc import Iterator
from contextlib import contextmanager

_withheld = False


class DataWithheld(RuntimeError):
    """A method requested data from a source."""


@contextmanager
def withheld() -> Iterator[None]:
    """Forbid data loading inside the `with` block."""
    global _withheld
    before, _withheld = _withheld, True
    try:
        yield
    finally:
        _withheld = before


def refuse() -> None:
    """Raise DataWithheld inside a `withheld` block."""
    if _withheld:
        raise DataWithheld(
            "a method requested data during its fit or its predictions: it may use only the rows "
            "that it is given"
        )
