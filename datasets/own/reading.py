"""The user's files as tables: text, Excel, parquet, npz, and data sets saved by Hugging Face.

A file's first bytes say what it is, whatever its name says.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from bnnbench.datasets.own.files.arrays import read_arrays
from bnnbench.datasets.own.files.excel import read_excel
from bnnbench.datasets.own.files.saved import PARTS, STATE, read_arrow, read_parts
from bnnbench.datasets.own.files.text import read_text
from bnnbench.datasets.own.notes import Sheet
from bnnbench.datasets.reading.bounded import TooLarge
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.parquet import table_of
from bnnbench.datasets.reading.third_party_text import shortened
from bnnbench.datasets.reading.whole_files import open_regular

ZIP, OLD_EXCEL, PARQUET = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PAR1"
"""First bytes of files."""


def read(path: str, texts: Sequence[str] = ()) -> pd.DataFrame:
    """Return the table of a file or folder; the columns `texts` are not read as numbers.

    Raises `BadTable` if it cannot be read.
    """
    return sheet_of(path, texts).frame


def sheet_of(path: str, texts: Sequence[str] = ()) -> Sheet:
    """Return the table of a file or folder, and notes on how it was read; raises `BadTable`."""
    file = Path(path)
    try:
        if not file.is_dir():
            open_regular(file).close()
    except FileNotFoundError as error:
        raise BadTable(f"there is no file {path}") from error
    except OSError as error:  # a device, a FIFO, a loop of links, or a name that is too long
        reason = f"{error.strerror}: {shortened(path, 200)}"
        raise BadTable(f"the data cannot be read: {reason}") from error
    try:
        return _reader(file, texts)(file)
    except BadTable:
        raise
    except TooLarge as error:
        raise BadTable(f"{path}: {error}; save it unpacked, or fewer rows or columns") from error
    except ImportError as error:
        raise BadTable(
            f"reading {file.name} needs pyarrow: pip install 'bnnbench[parquet]'"
        ) from error
    except Exception as error:
        reason = shortened(str(error).strip().partition("\n")[0], 300)
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


def require_unchanged(path: str, sha256: str) -> None:
    """Raise `BadTable` unless the content of a file or folder has this checksum."""
    if digest(path) != sha256:
        raise BadTable(
            f"{path} changed while the command ran, or since the run being repeated: "
            f"run it again, or restore the file with SHA-256 {sha256[:12]}…"
        )


def _reader(file: Path, texts: Sequence[str]) -> Callable[[Path], Sheet]:
    if not file.is_dir():
        return _of_file(file, texts)
    if has_parts(str(file)):
        return lambda folder: Sheet(read_parts(folder))
    if (file / STATE).is_file():
        return lambda folder: Sheet(read_arrow(folder))
    raise BadTable(
        f"{file} is a folder without {STATE} or {PARTS}, and without sub-folders of pictures: "
        "needed a folder written by Hugging Face's save_to_disk, a folder of images, or a file"
    )


def _of_file(file: Path, texts: Sequence[str]) -> Callable[[Path], Sheet]:
    with open_regular(file) as content:
        first = content.read(len(OLD_EXCEL))
    if first == OLD_EXCEL:
        raise BadTable(f"{file} is an Excel file of the old kind (.xls): save it as xlsx or csv")
    if file.suffix == ".npz":
        return read_arrays
    if file.suffix == ".parquet" or first.startswith(PARQUET):
        return lambda file: Sheet(table_of(file).to_pandas())
    return _of_zip(file, texts) if first.startswith(ZIP) else partial(read_text, texts=texts)


def _of_zip(file: Path, texts: Sequence[str]) -> Callable[[Path], Sheet]:
    """Return the reader of a file that is a zip: a workbook, arrays, or one packed table."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    if any(name.startswith("xl/") for name in names):
        return read_excel
    if names and all(name.endswith(".npy") for name in names):
        return read_arrays
    if file.suffix.lower() == ".zip":
        return partial(read_text, texts=texts)
    raise BadTable(f"{file} is a zip file, but neither an Excel workbook nor an npz file")
