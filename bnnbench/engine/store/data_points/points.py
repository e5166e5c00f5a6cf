"""Files of data points for figures, one for each fold of a source."""

import io
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.declare.description import digest
from bnnbench.engine.store.store import CorruptRecord, Store

REMEDY = "remove it: the next run of its suite rewrites it"

Points = TypeVar("Points")


def path_of(store: Store, *identity: object) -> Path:
    """Return the file of a fold's points, named by a digest of the fold's identity."""
    return store.folder / "curves" / f"{digest(list(identity))}.npz"


def write_points(path: Path, points: object) -> None:
    """Write the arrays of a dataclass atomically to one file, leaving out None."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in vars(points).items() if array is not None})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())


def read_points(path: Path, kind: type[Points]) -> Points | None:
    """Return the dataclass with the arrays of a file; None if there is no file.

    Raises `CorruptRecord` for a file that is incomplete or has other arrays.
    """
    if not path.exists():
        return None
    try:
        dataclass: Any = kind
        return kind(**npz.arrays_of(path, [field.name for field in fields(dataclass)]))
    except OSError as error:
        raise CorruptRecord(path, error, "make it readable, or remove it") from error
    except MemoryError:
        raise
    except Exception as error:  # NumPy raises all kinds of errors for corrupt bytes
        raise CorruptRecord(path, f"not a file of data points: {error!r}", REMEDY) from error
