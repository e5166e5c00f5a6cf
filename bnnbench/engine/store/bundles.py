"""A bundle: the records of a suite in one small file, without predictions.

It is a store's folder `runs` as a tar archive: `tar xf runs.tar.xz` makes a store of it.
"""

import io
import lzma
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from bnnbench.datasets.reading.whole_files import whole, write_whole
from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import LaterSchema, check_identity, from_json, to_json
from bnnbench.engine.store.store import PREDICTIONS, RECORD, CorruptRecord

NAME = "runs.tar.xz"

COPY_AGAIN = "get the file from the repository again"

OF_PREDICTIONS = "predictions.tar"
"""The predictions of the same runs, in the same folder; already packed, too large for a repository.
"""


def folders(path: Path) -> list[Path]:
    """Return the folders with a file of records: the path itself and its sub-folders."""
    return [folder for folder in (path, *sorted(path.glob("*/"))) if (folder / NAME).is_file()]


def write(folder: Path, records: Sequence[Record]) -> Path:
    """Write the records, similar ones next to each other, and return the path of the file.

    Equal records give equal bytes.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for record in sorted(records, key=_place):
            text = to_json(record).encode()
            entry = tarfile.TarInfo(f"runs/{record.key}/{RECORD}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    folder.mkdir(parents=True, exist_ok=True)
    content = lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME)
    write_whole(folder / NAME, content)
    return folder / NAME


def _place(record: Record) -> tuple[str, str, str, int, int, str]:
    """Return a sort key that puts records sharing a search next to each other."""
    return (
        *(record.profile, record.dataset, record.method),
        *(record.fold, record.seed, record.key),
    )


def write_predictions(folder: Path, content_of: Mapping[str, Callable[[], bytes]]) -> Path:
    """Write predictions, given by key → function that reads them; return the path of the file.

    Unpacked over the records, it completes their store. Equal predictions give equal bytes.
    """
    with (
        whole(folder / OF_PREDICTIONS) as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for key in sorted(content_of):
            content = content_of[key]()
            entry = tarfile.TarInfo(f"runs/{key}/{PREDICTIONS}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return folder / OF_PREDICTIONS


def read(folder: Path, start: str = "") -> tuple[Record, ...]:
    """Return the records of a bundle whose keys begin with `start`, by default all.

    Raises `CorruptRecord` if the file or one of its records is altered or truncated.
    """
    path = folder / NAME
    try:
        content = lzma.decompress(
            path.read_bytes()
        )  # read completely, so that its checksums are verified
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            entries = _entries(archive, content)
            return tuple(_record(archive, e) for e in entries if _key(e).startswith(start))
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise CorruptRecord(path, error, COPY_AGAIN) from error


def suite_of(folder: Path) -> str:
    """Return the suite of a bundle's first record, without reading the others.

    Raises `CorruptRecord` if it cannot be read.
    """
    path = folder / NAME
    try:
        with tarfile.open(path, "r:xz") as archive:
            return next(_record(archive, entry).suite for entry in archive if entry.isfile())
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise CorruptRecord(path, error, COPY_AGAIN) from error
    except StopIteration:
        raise CorruptRecord(path, "it has no record", COPY_AGAIN) from None


def _entries(archive: tarfile.TarFile, content: bytes) -> list[tarfile.TarInfo]:
    """Return the records' entries. Raises ValueError if the archive has anything else.

    At a damaged header, `tarfile` ends as if there were no more entries.
    """
    entries = [entry for entry in archive if not entry.isdir()]
    if content[archive.offset :].strip(b"\0"):
        raise ValueError("a header is altered: entries follow the end of the archive")
    if odd := [entry.name for entry in entries if not entry.isfile()]:
        raise ValueError(f"{odd[0]} is no file")
    if len({entry.name for entry in entries}) < len(entries):
        raise ValueError("a record occurs twice")
    return entries


def _key(entry: tarfile.TarInfo) -> str:
    """Return the key of a record from its folder; "" without one."""
    return PurePosixPath(entry.name).parent.name


def _record(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Record:
    file = archive.extractfile(entry)
    assert file is not None, "directories and links are skipped"
    try:
        record = from_json(file.read().decode())
        check_identity(record, _key(entry))
    except LaterSchema:
        raise  # its remedy differs from that of corruption
    except ValueError as error:
        raise ValueError(f"{entry.name}: {error}") from error
    return record
