"""The user's files as tables: csv, parquet, npz, and data sets saved to disk by Hugging Face.

In a csv file whose columns are separated by semicolons or tabs, numbers may have decimal commas.

An npz file has `inputs` (rows by features), `targets`, and optionally `names`, one per feature.
A saved data set is a folder of arrow files, as written by `Dataset.save_to_disk` and `DatasetDict`.
"""

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.bounded import PACKED, TooLarge, limit_of, unpacked_text
from bnnbench.datasets.reading.columns import BadTable, column_of, have_decimal_commas
from bnnbench.datasets.reading.parquet import joined, table_of
from bnnbench.datasets.reading.third_party_text import shortened
from bnnbench.datasets.reading.whole_files import open_regular, read_regular

TARGETS = "target"
"""The target column of a table read from an npz file."""
SPLITS = "split"
"""The column with the part of each row of a saved `DatasetDict`."""
SEPARATORS = (",", ";", "\t")
"""The allowed column separators of a csv file."""
UNREAD = (".zst", ".tar", ".tgz", ".7z")
"""Endings of packed files that are not read."""
EXCEL = (".xls", ".xlsx")
PARTS = "dataset_dict.json"
STATE = "state.json"


def read(path: str) -> pd.DataFrame:
    """Return the table of a file or folder; raises `BadTable` if it cannot be read."""
    file = Path(path)
    try:
        if not file.is_dir():
            open_regular(file).close()
    except FileNotFoundError as error:
        raise BadTable(f"there is no file {path}") from error
    except OSError as error:  # a device, a FIFO, a loop of links, or a name that is too long
        reason = f"{error.strerror}: {shortened(path, 200)}"
        raise BadTable(f"the data cannot be read: {reason}") from error
    reader = _reader(file)
    try:
        return reader(file)
    except BadTable:
        raise
    except TooLarge as error:
        raise BadTable(f"{path}: {error}; save it unpacked, or fewer rows or columns") from error
    except UnicodeDecodeError as error:
        is_excel = file.suffix.lower() in EXCEL
        cure = "an Excel file: save it as csv" if is_excel else "save it as UTF-8"
        raise BadTable(f"{path} is not UTF-8 text: {cure}") from error
    except ImportError as error:
        raise BadTable(
            f"reading {file.name} needs pyarrow: pip install 'bnnbench[parquet]'"
        ) from error
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadTable(f"{path} cannot be read as a table: {reason}") from error


def has_parts(path: str) -> bool:
    """Return whether a path is a saved `DatasetDict`."""
    return (Path(path) / PARTS).is_file()


def digest(path: str) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a folder's files."""
    file = Path(path)
    if file.is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    parts = [
        (str(inner.relative_to(file)), hashlib.sha256(inner.read_bytes()).hexdigest())
        for inner in sorted(file.rglob("*"))
        if inner.is_file()
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _reader(file: Path) -> Callable[[Path], pd.DataFrame]:
    if not file.is_dir():
        return {".parquet": _of_parquet, ".npz": _of_arrays}.get(file.suffix, _of_text)
    if has_parts(str(file)):
        return _of_parts
    if (file / STATE).is_file():
        return _of_arrow
    raise BadTable(
        f"{file} is a folder without {STATE} or {PARTS}, and without sub-folders of pictures: "
        "needed a folder written by Hugging Face's save_to_disk, a folder of images, or a file"
    )


def _of_text(file: Path) -> pd.DataFrame:
    """Return a csv file's table, using the separator that gives most columns in the first line."""
    read_csv = partial(_csv, file)
    widths = {mark: len(read_csv(sep=mark, nrows=0).columns) for mark in SEPARATORS}
    separator = max(widths, key=lambda mark: widths[mark])
    frame = read_csv(sep=separator)
    for name in frame.columns if separator != "," else ():
        column = column_of(frame, name)
        if not is_numeric_dtype(column) and have_decimal_commas(column):
            frame[name] = column.str.replace(",", ".", regex=False).astype(float)
    return frame


def _csv(file: Path, **settings: Any) -> pd.DataFrame:
    """Return the table of a csv file, which may be packed by gzip, bzip2, xz or zip."""
    suffix = file.suffix.lower()
    if suffix in UNREAD:
        raise BadTable(f"{file} is packed in a way that is not read: unpack it, or use gzip")
    packed = suffix in PACKED
    text = io.BytesIO(unpacked_text(read_regular(file), suffix)) if packed else file
    return pd.read_csv(text, encoding="utf-8-sig", compression=None, **settings)


def _of_parquet(file: Path) -> pd.DataFrame:
    return table_of(file).to_pandas()


def _of_arrays(file: Path) -> pd.DataFrame:
    with npz.opened(file) as arrays:
        _check_headers(file, arrays.headers)
        inputs, targets = arrays.array("inputs"), arrays.array("targets").reshape(-1)
        named = arrays.array("names").tolist() if "names" in arrays.headers else ()
    names = [str(name) for name in named] or [f"x{place}" for place in range(inputs.shape[1])]
    return pd.DataFrame(inputs, columns=pd.Index(names)).assign(**{TARGETS: targets})


def _check_headers(file: Path, headers: Mapping[str, npz.Header]) -> None:
    """Raise `BadTable` for arrays that are no table, before any is unpacked."""
    if lacking := [name for name in ("inputs", "targets") if name not in headers]:
        has = ", ".join(headers) or "none"
        raise BadTable(f"{file} needs the array {lacking[0]!r}; its arrays are {has}")
    inputs, targets = headers["inputs"].shape, headers["targets"].shape
    if len(inputs) != 2 or not all(inputs) or targets not in (inputs[:1], (inputs[0], 1)):
        raise BadTable(
            f"{file} needs inputs of rows by features, one or more of both, and one target per "
            "row; got shapes "
            f"{inputs} and {targets}"
        )
    names = headers["names"].shape if "names" in headers else inputs[1:]
    if names != inputs[1:]:
        given = "x".join(map(str, names))
        raise BadTable(f"{file} has {given} names for {inputs[1]} features")


def _of_parts(folder: Path) -> pd.DataFrame:
    """Return all parts, with a column that says "test" or, for any other part, "train"."""
    parts = json.loads((folder / PARTS).read_text())["splits"]
    frames = []
    for part in parts:
        frame = _of_arrow(folder / part)
        if SPLITS in frame.columns:
            raise BadTable(f"{folder} has a column {SPLITS!r}, reserved for its parts: rename it")
        frames.append(frame.assign(**{SPLITS: "test" if part == "test" else "train"}))
    together = pd.concat(frames, ignore_index=True)
    return together if "test" in parts and len(parts) > 1 else together.drop(columns=SPLITS)


def _of_arrow(folder: Path) -> pd.DataFrame:
    import pyarrow as pa

    state = json.loads((folder / STATE).read_text())
    if state.get("_indices_data_files"):
        raise BadTable(f"{folder} has indexed rows: call flatten_indices() before save_to_disk")
    tables = []
    for entry in state["_data_files"]:
        with pa.memory_map(str(folder / Path(entry["filename"]).name)) as source:
            stream = pa.ipc.open_stream(source)
            tables.append(joined(stream, stream.schema, limit_of(source.size())))
    table = pa.concat_tables(tables)
    return _labelled(table.to_pandas(), (table.schema.metadata or {}).get(b"huggingface", b"{}"))


def _labelled(frame: pd.DataFrame, metadata: bytes) -> pd.DataFrame:
    """Return the table with class names, which Hugging Face saves as numbers."""
    features: Mapping[str, Any] = json.loads(metadata).get("info", {}).get("features") or {}
    for name, feature in features.items():
        if isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel":
            names = dict(enumerate(feature.get("names") or ()))
            frame[name] = frame[name].map(lambda number, names=names: names.get(number, number))
    return frame
