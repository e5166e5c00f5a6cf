"""Arrays in npz files, whose names, shapes and sizes are checked before any is unpacked."""

import io
import math
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from bnnbench.datasets.reading.bounded import limit_of, require_size
from bnnbench.datasets.reading.whole_files import open_regular

ENDING = ".npy"

MOST_MEMBERS = 10_000
"""Maximum number of arrays in a file."""

LONGEST_SIDES = 2**26
"""Maximum product of the sides of an array without numbers, a side of 0 counting as 1."""

LONGEST_HEADER = 10_000
"""Maximum bytes of an array's header, as in NumPy."""

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compressions that NumPy writes."""


@dataclass(frozen=True)
class Header:
    """An array's shape and type, as stated before its data."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def bytes(self) -> int:
        """The size of the array's data."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Npz:
    """An open npz file, of which only headers have been read."""

    headers: Mapping[str, Header]
    """Name → header, in the order of the file."""
    _archive: zipfile.ZipFile

    def array(self, name: str) -> np.ndarray:
        """Return an array. Raises ValueError for damaged data."""
        try:
            with self._archive.open(name + ENDING) as member:
                return npy.read_array(member, allow_pickle=False)
        except (zlib.error, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"the data of {name!r} are damaged: {error}") from error

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name."""
        return {name: self.array(name) for name in self.headers}

    def require(self, names: Collection[str]) -> None:
        """Raise ValueError for an array of any other name."""
        if strangers := [name for name in self.headers if name not in names]:
            raise ValueError(f"{strangers[0]!r} is none of the arrays {', '.join(names)}")


@contextmanager
def opened(file: Path | bytes) -> Iterator[Npz]:
    """Open an npz file, given by its path or its content.

    Raises ValueError if it is not a complete npz file of plain arrays, and `bounded.TooLarge` if
    its arrays together exceed `bounded.limit_of` its size.
    """
    with io.BytesIO(file) if isinstance(file, bytes) else open_regular(file) as content:
        size = content.seek(0, io.SEEK_END)
        try:
            with zipfile.ZipFile(content) as archive:
                yield Npz(_headers(archive, limit_of(size)), archive)
        except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError) as error:
            raise ValueError(f"not a complete npz file: {error}") from error


def arrays_of(file: Path | bytes, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file; raises like `opened`, and for names not among `names`."""
    with opened(file) as npz:
        if names is not None:
            npz.require(names)
        return npz.arrays()


def _headers(archive: zipfile.ZipFile, most: int) -> dict[str, Header]:
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise ValueError(f"it has {len(members)} arrays, more than the limit of {MOST_MEMBERS}")
    require_size(sum(member.file_size for member in members), most, "it")
    headers: dict[str, Header] = {}
    for member in members:
        name = member.filename.removesuffix(ENDING)
        if name in headers or name == member.filename or member.compress_type not in METHODS:
            raise ValueError(f"{member.filename!r} is not a single plain array")
        with archive.open(member) as file:
            headers[name] = _header(file, member)
    return headers


def _header(file: IO[bytes] | io.BufferedIOBase, member: zipfile.ZipInfo) -> Header:
    version = npy.read_magic(file)
    if version not in _READERS:
        raise ValueError(f"{member.filename!r} is of version {version} of the format")
    shape, _, dtype = _READERS[version](file, max_header_size=LONGEST_HEADER)
    if dtype.hasobject:
        raise ValueError(
            f"{member.filename!r} holds Python objects: they are a pickle, which is never read"
        )
    header = Header(shape, dtype)
    if any(side < 0 for side in shape) or header.bytes != member.file_size - file.tell():
        raise ValueError(f"{member.filename!r} has another size than its header states")
    if not header.bytes:
        require_size(math.prod(max(side, 1) for side in shape), LONGEST_SIDES, "its shape")
    return header


_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
