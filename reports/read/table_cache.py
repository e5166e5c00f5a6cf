"""Tables of bundles in the user's cache folder, where a second read takes no time.

A table is a file of columns, named by the digests of the bundle's content and of the code that
reads it: whatever changes either makes another file. Any problem with a file counts as its absence.
`BNNBENCH_CACHE=off` turns the cache off.
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

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.records.record import Record
from bnnbench.engine.store import bundles
from bnnbench.methods.source_code import SCHEME, Class, digest_of
from bnnbench.reports.read.bundles import records_of

SWITCH = "BNNBENCH_CACHE"
"""Environment variable: a folder in place of the user's, or "off"."""

LONGEST_UNUSED = 30 * 86400.0
"""Seconds after which a file that nobody read is removed."""


def cached(bundle: Path, table_of: Callable[[Sequence[Record]], pd.DataFrame]) -> pd.DataFrame:
    """Return the table that a function of this project makes of a bundle's records.

    It comes from the cache, or is made and cached. Raises `CorruptRecord`.
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
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) if chosen else home / "bnnbench" / "tables"


def _read(file: Path) -> pd.DataFrame | None:
    """Return the table in a file; None if it is absent or cannot be read."""
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
            kinds = json.loads(arrays["kinds"].tobytes())
            columns = {name: _column(arrays, i, kinds[name]) for i, name in enumerate(kinds)}
            table = pd.DataFrame(columns)
        os.utime(file)  # it is in use
    except Exception:
        return None
    return table


def _column(arrays: Any, place: int, kind: str) -> Any:
    if f"numbers_{place}" in arrays:
        return arrays[f"numbers_{place}"]
    texts = np.array(json.loads(arrays[f"texts_{place}"].tobytes()), dtype=object)
    codes = arrays[f"codes_{place}"]
    return texts[codes] if kind == "object" else pd.array(texts, dtype=kind).take(codes)


def _write(file: Path, table: pd.DataFrame) -> None:
    """Write a table as a whole file, and remove files that nobody read for long."""
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
