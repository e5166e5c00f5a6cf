"""Tables of bundles, cached in the user's folder so that a second read is fast.

A table is a file of columns. Its name holds the digests of the bundle's content and of the code
that reads it, so that a change of either leads to another file. A file that cannot be read is
treated as absent. `BNNBENCH_CACHE=off` turns the cache off.
"""

import contextlib
import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.records.record import Record
from bnnbench.engine.store import bundles
from bnnbench.methods.source_code import SCHEME, Class, digest_of
from bnnbench.reports.read.bundles import records_of

SWITCH = "BNNBENCH_CACHE"
"""Environment variable: a folder in place of the user's, or "off"."""

LONGEST_UNUSED = 30 * 86400.0
"""Seconds after which an unread file is removed."""


def cached(bundle: Path, table_of: Callable[[Sequence[Record]], pd.DataFrame]) -> pd.DataFrame:
    """Return a bundle's table, from the cache or made by `table_of` and then cached.

    `table_of` is a function of this project. Raises `CorruptRecord`.
    """
    folder = _folder()
    if folder is None:
        return table_of(records_of(bundle))
    content = hashlib.sha256((bundle / bundles.NAME).read_bytes()).hexdigest()
    functions = [Class(f.__module__, f.__name__) for f in (table_of, records_of)]
    code = digest_of(*functions)[len(SCHEME) :]
    file = folder / f"{table_of.__name__}-{code[:16]}-{content[:32]}.npz"
    table = _read(file)
    if table is None:
        table = table_of(records_of(bundle))
        with contextlib.suppress(OSError):
            _write(file, table)
    return table


def _folder() -> Path | None:
    chosen = os.environ.get(SWITCH, "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    try:
        return Path.home() / ".cache" / "bnnbench" / "tables"
    except RuntimeError:  # a user without a home
        return None


def _read(file: Path) -> pd.DataFrame | None:
    """Return the table in a file; None if it is absent or cannot be read."""
    try:
        arrays = npz.arrays_of(file)
        kinds = json.loads(arrays["kinds"].tobytes())
        columns = {name: _column(arrays, i, kinds[name]) for i, name in enumerate(kinds)}
        table = pd.DataFrame(columns)
    except Exception:
        return None
    with contextlib.suppress(OSError):  # the folder may be somebody else's
        os.utime(file)  # it is in use
    return table


def _column(arrays: Any, place: int, kind: str) -> Any:
    if f"numbers_{place}" in arrays:
        return arrays[f"numbers_{place}"]
    texts = np.array(json.loads(arrays[f"texts_{place}"].tobytes()), dtype=object)
    codes = arrays[f"codes_{place}"]
    return texts[codes] if kind == "object" else pd.array(texts, dtype=kind).take(codes)


def _write(file: Path, table: pd.DataFrame) -> None:
    """Write a table, and remove files that have not been read for `LONGEST_UNUSED`."""
    arrays: dict[str, Any] = {
        "kinds": _bytes({name: str(table[name].dtype) for name in table.columns})
    }
    for place, name in enumerate(table.columns):
        values = table[name]
        if values.dtype.kind in "if":
            arrays[f"numbers_{place}"] = values.to_numpy()
        else:
            codes, texts = pd.factorize(values)
            if (codes < 0).any():  # an absent text has no code
                return
            arrays[f"codes_{place}"] = codes.astype(np.int32)
            arrays[f"texts_{place}"] = _bytes(list(texts))
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, content.getvalue())
    for other in file.parent.glob("*.npz"):
        if other.stat().st_mtime < time.time() - LONGEST_UNUSED:
            other.unlink(missing_ok=True)


def _bytes(value: object) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
