"""Npz files as tables: each array is a column, or a block of columns.

A file with the arrays `inputs` and `targets` may also have `names`, one for each column of inputs,
and predicts `target` unless another column is named.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.datasets.own.notes import Note, Sheet, quoted
from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.columns import BadTable

TARGETS = "target"
"""The target column of a file with `inputs` and `targets`."""
MOST_COLUMNS = 20_000
KINDS = "biufMSU"
"""NumPy's kinds of arrays that are read: truths, numbers, dates and texts."""


def read_arrays(file: Path) -> Sheet:
    """Return the table of an npz file; headers are checked before any array is unpacked."""
    with npz.opened(file) as arrays:
        headers = dict(arrays.headers)
        is_paired = {"inputs", "targets"} <= headers.keys()
        if is_paired:
            _require_pairs(file, headers)
        named = headers.pop("names", None) if is_paired else None
        rows = headers["inputs"].shape[0] if is_paired else _row_count(file, headers)
        used = {name: header for name, header in headers.items() if header.shape[:1] == (rows,)}
        _require_readable(file, used)
        names = {"inputs": arrays.array("names").tolist()} if named else {}
        blocks = [_block(name, arrays.array(name), names, is_paired) for name in used]
    others = [name for name in headers if name not in used]
    return Sheet(pd.concat(blocks, axis=1), _on_others(file, others, rows))


def _block(
    name: str, values: np.ndarray, given: Mapping[str, Sequence[str]], is_paired: bool
) -> pd.DataFrame:
    """Return the columns of an array: one, or one for each number that a row has."""
    flat = values.reshape(len(values), -1)
    flat = np.char.decode(flat, "utf-8") if flat.dtype.kind == "S" else flat
    title = {"inputs": "x", "targets": TARGETS}.get(name, name) if is_paired else name
    mark = "" if is_paired and name == "inputs" else "_"
    names = given.get(name) or [f"{title}{mark}{place}" for place in range(flat.shape[1])]
    is_single = flat.shape[1] == 1 and not (is_paired and name == "inputs")
    return pd.DataFrame(flat, columns=pd.Index([title] if is_single else [*map(str, names)]))


def _row_count(file: Path, headers: Mapping[str, npz.Header]) -> int:
    """Return the number of rows that most arrays have."""
    lengths = [header.shape[0] for header in headers.values() if header.shape]
    if not lengths or not max(lengths):
        raise BadTable(f"{file} has no arrays with rows; its arrays are {_shapes(headers)}")
    count = max(set(lengths), key=lambda length: (lengths.count(length), length))
    if lengths.count(count) == 1 and len(lengths) > 1:
        raise BadTable(
            f"{file} needs arrays with one entry, or one row of numbers, for each row of the "
            f"table; its arrays are {_shapes(headers)}"
        )
    return count


def _require_readable(file: Path, headers: Mapping[str, npz.Header]) -> None:
    """Raise `BadTable` for arrays of other kinds than numbers and texts, and too many columns."""
    for name, header in headers.items():
        if header.dtype.kind not in KINDS or not math.prod(header.shape):
            kind = f"has the type {header.dtype}, and the shape {header.shape}"
            raise BadTable(f"the array {name!r} of {file} {kind}: needed numbers or texts")
    columns = sum(math.prod(header.shape[1:]) for header in headers.values())
    if columns > MOST_COLUMNS:
        raise BadTable(
            f"{file} has {columns:,} columns, more than {MOST_COLUMNS:,}; its arrays are "
            f"{_shapes(headers)}"
        )


def _require_pairs(file: Path, headers: Mapping[str, npz.Header]) -> None:
    """Raise `BadTable` unless inputs, targets and names fit each other."""
    inputs, targets = headers["inputs"].shape, headers["targets"].shape
    if len(inputs) != 2 or not all(inputs) or targets[:1] != inputs[:1]:
        raise BadTable(
            f"{file} needs inputs of rows by features, one or more of both, and one target per "
            f"row; got shapes {inputs} and {targets}"
        )
    names = headers["names"].shape if "names" in headers else inputs[1:]
    if names != inputs[1:]:
        given = "x".join(map(str, names))
        raise BadTable(f"{file} has {given} names for {inputs[1]} features")


def _on_others(file: Path, others: Sequence[str], rows: int) -> tuple[Note, ...]:
    if not others:
        return ()
    cause = f"arrays without an entry for each of {rows:,} rows"
    return (Note(f"{cause}, left out: {quoted(others)}", f"{file} has {cause}: {quoted(others)}"),)


def _shapes(headers: Mapping[str, npz.Header]) -> str:
    shown = [f"{name} {header.shape}" for name, header in list(headers.items())[:12]]
    return ", ".join(shown) or "none"
