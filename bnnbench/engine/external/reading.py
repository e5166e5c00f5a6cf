"""Read files of predictions: npz, csv and parquet, single, in a folder or from standard input.

Nothing here needs torch, and nothing in a file is executed.
"""

import io
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.bounded import TooLarge, limit_of, require_size
from bnnbench.datasets.reading.parquet import table_of
from bnnbench.datasets.reading.third_party_text import legible, shortened
from bnnbench.datasets.reading.whole_files import read_regular
from bnnbench.engine.external.forms import (
    BadPredictions,
    Prediction,
    checked,
    form_of,
    require_shapes,
)
from bnnbench.engine.external.tables import Arrays, parts_of
from bnnbench.engine.store.store import sha256

SUFFIXES = (".npz", ".csv", ".parquet")

PLACES = ("fold", "seed", "rows_sha256")
"""Arrays of one value beside a prediction."""

MOST_PLACES = 100
"""Values of such an array that are still read, to be shown in a message."""

ROWS = "row"
"""The array with the names of the rows."""

IT = "in double precision, it"
CURE_OF_SIZE = "fewer draws, or one file for each fold and seed"

STDIN = "standard input"


@dataclass(frozen=True)
class HandedIn:
    """The predictions of one fold and seed, and the file's information on its rows."""

    file: str
    file_sha256: str
    prediction: Prediction
    fold: int | None
    seed: int | None
    rows: tuple[str, ...]
    """The names of the rows; () if absent."""
    rows_sha256: str | None


def read(path: Path) -> list[HandedIn]:
    """Return all predictions of a file, or of the files in a folder.

    Raises BadPredictions with the file, the cause and the remedy.
    """
    try:
        os.stat(path)
    except FileNotFoundError as error:
        hint = "give a file, a folder, or - for a table"
        raise BadPredictions(f"{path} does not exist: {hint}") from error
    except OSError as error:  # a loop of links, or a name that is too long
        name = shortened(str(path), 200)
        raise BadPredictions(f"{name} cannot be read: {error.strerror}") from error
    if not path.is_dir():
        return _read_file(path)
    files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    if strangers := [file.name for file in files if file.suffix not in SUFFIXES]:
        raise BadPredictions(
            f"{path}: {strangers[0]} is none of {', '.join(SUFFIXES)}: leave only predictions in "
            "the folder"
        )
    if not files:
        raise BadPredictions(f"{path} is empty: put predictions into it")
    return [handed_in for file in files for handed_in in _read_file(file)]


def _read_file(path: Path) -> list[HandedIn]:
    try:
        content = read_regular(path)
    except OSError as error:
        raise BadPredictions(f"{path} cannot be read: {error.strerror or error}") from error
    return read_content(content, str(path))


def read_content(content: bytes, title: str) -> list[HandedIn]:
    """Return the predictions in a file's bytes; the format is detected from the first bytes."""
    try:
        return list(_parts(content, title))
    except TooLarge as error:
        raise BadPredictions(f"{legible(title)}: {error}; hand in {CURE_OF_SIZE}") from error
    except BadPredictions as error:
        raise BadPredictions(f"{legible(title)}: {error}") from error


def _parts(content: bytes, title: str) -> Iterator[HandedIn]:
    digest = sha256(content)
    for arrays, rows in _arrays_of(content):
        fold, seed, inputs = (arrays.pop(name, None) for name in PLACES)
        fold, seed = _whole(fold, "fold"), _whole(seed, "seed")
        prediction = checked(arrays)
        if rows:
            _check_names(rows, prediction.points)
        known = None if inputs is None else str(inputs)
        yield HandedIn(title, digest, prediction, fold, seed, rows, known)


def _arrays_of(content: bytes) -> Iterator[tuple[Arrays, tuple[str, ...]]]:
    if content.startswith(b"PK"):
        arrays = _npz(content)
        rows = arrays.pop(ROWS, None)
        yield arrays, () if rows is None else tuple(map(str, np.asarray(rows).reshape(-1).tolist()))
    elif content.startswith(b"PAR1"):
        yield from parts_of(_parquet(content))
    elif content.startswith(b"\x93NUMPY"):
        raise BadPredictions(
            "an npy file holds one array without a name: save it as npz, with "
            "numpy.savez(file, probabilities=array)"
        )
    else:
        yield from parts_of(_csv(content))


def _npz(content: bytes) -> Arrays:
    try:
        with npz.opened(content) as file:
            _check_headers(file.headers, len(content))
            return file.arrays()
    except (BadPredictions, TooLarge):
        raise
    except (ValueError, OSError) as error:
        raise BadPredictions(
            f"not a complete npz file of plain arrays ({error}): write it again with numpy.savez, "
            "without arrays of objects"
        ) from error


def _check_headers(headers: Mapping[str, npz.Header], packed_bytes: int) -> None:
    """Raise an error for arrays that are no prediction, before any is unpacked."""
    for name in PLACES:
        if name in headers and math.prod(headers[name].shape) > MOST_PLACES:
            raise BadPredictions(f"{name} has shape {headers[name].shape}: give one value")
    arrays = {n: header.shape for n, header in headers.items() if n not in (*PLACES, ROWS)}
    form_of(arrays)
    require_shapes(arrays)
    require_size(sum(8 * math.prod(shape) for shape in arrays.values()), limit_of(packed_bytes), IT)


def _csv(content: bytes) -> Any:
    import pandas as pd

    texts: Mapping[Any, Any] = {"row": str, "rows_sha256": str}
    try:
        return pd.read_csv(io.BytesIO(content), dtype=texts, skipinitialspace=True)
    except (ValueError, UnicodeDecodeError) as error:
        raise BadPredictions(
            f"not a table ({str(error).strip()}): give csv with commas and a first line of names, "
            "npz or parquet"
        ) from error


def _parquet(content: bytes) -> Any:
    import pandas as pd

    try:
        import pyarrow
    except ImportError as error:
        raise BadPredictions(
            "parquet needs pyarrow: pip install 'bnnbench[parquet]', or give csv or npz"
        ) from error
    try:
        table = table_of(content)
        columns = {name: table[name].to_numpy() for name in table.column_names}
    except (pyarrow.ArrowException, OSError) as error:
        raise BadPredictions(f"not a complete parquet file ({error}): write it again") from error
    return pd.DataFrame(columns)


def _whole(given: Any, name: str) -> int | None:
    """Return a fold or a seed; None if absent."""
    if given is None:
        return None
    array = np.asarray(given)
    if array.size != 1 or array.dtype.kind not in "iu" or array.reshape(-1)[0] < 0:
        raise BadPredictions(f"{name} is {array.tolist()!r}: give one whole number from 0")
    return int(array.reshape(-1)[0])


def _check_names(rows: tuple[str, ...], points: int) -> None:
    if len(rows) != points:
        raise BadPredictions(
            f"there are {len(rows)} row names for {points} predictions: give one for each"
        )
    seen: set[str] = set()
    for row in rows:
        if row in seen:
            raise BadPredictions(
                f"row {row} occurs twice: predict every row once, or number a row's draws in a "
                "column draw"
            )
        seen.add(row)
