"""A bundle: the records of a suite in one small file, without predictions.

It is a store's folder `runs` as a tar archive: `tar xf runs.tar.xz` makes a store of it.
"""

import io
import lzma
import tarfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath

from bnnbench.datasets.reading.whole_files import open_regular, whole
from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import LaterSchema, check_identity, from_json, to_json
from bnnbench.engine.store import archives
from bnnbench.engine.store.store import PREDICTIONS, RECORD, CorruptRecord

NAME = "runs.tar.xz"

FILTERS = [
    {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 2**23},
]
"""Compression that needs 100 MB of memory instead of the preset's 700."""

LARGEST = 2**32
"""Maximum size in bytes of all records together, unpacked."""

LARGEST_RECORD = 2**26
"""Maximum size in bytes of a record."""

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
    with (
        whole(folder / NAME) as file,
        lzma.open(file, "wb", filters=FILTERS) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for record in sorted(records, key=_place):
            text = to_json(record).encode()
            entry = tarfile.TarInfo(f"runs/{record.key}/{RECORD}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
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
    return tuple(_records(folder / NAME, start))


def suite_of(folder: Path) -> str:
    """Return the suite of a bundle's first record, without reading the others.

    Raises `CorruptRecord` if it cannot be read.
    """
    path = folder / NAME
    with closing(_records(path)) as records:
        first = next(records, None)
    if first is None:
        raise CorruptRecord(path, "it has no record", COPY_AGAIN)
    return first.suite


def _records(path: Path, start: str = "") -> Generator[Record, None, None]:
    """Yield the records whose keys begin with `start`; the file is unpacked as they are read."""
    try:
        with open_regular(path) as file:
            seen: set[str] = set()
            for member in archives.members(archives.Unpacked(file), LARGEST_RECORD, LARGEST):
                if member.name in seen:
                    raise ValueError(f"{member.name} is in it twice")
                seen.add(member.name)
                if _key(member).startswith(start):
                    yield _record(member)
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise CorruptRecord(path, error, COPY_AGAIN) from error


def _key(member: archives.Member) -> str:
    """Return the key of a record from its folder; "" without one."""
    return PurePosixPath(member.name).parent.name


def _record(member: archives.Member) -> Record:
    try:
        record = from_json(member.read().decode())
        check_identity(record, _key(member))
    except LaterSchema:
        raise  # its remedy differs from that of corruption
    except ValueError as error:
        raise ValueError(f"{member.name}: {error}") from error
    return record
