"""Decompression with a limit on what comes out, since a small file can stand for any size.

A limit is checked while unpacking, or in headers before it, so that a file beyond it costs no more
than one block of memory.
"""

import bz2
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

LARGEST, TIMES = 2**29, 8
"""Maximum unpacked size in bytes; for large files, in sizes of the packed file."""

BLOCK = 2**18
"""Bytes unpacked at a time."""

MEMORY = 2**28
"""Maximum bytes of memory that the dictionary of an xz file may need."""


class TooLarge(ValueError):
    """Unpacked, a file would exceed its limit; the message names the limit."""


def limit_of(packed_bytes: int) -> int:
    """Return the maximum unpacked size of a file: `LARGEST`, or `TIMES` its own size if more."""
    return max(LARGEST, TIMES * packed_bytes)


def require_size(size: float, most: int, title: str) -> None:
    """Raise `TooLarge` if a stated size in bytes exceeds the maximum."""
    if not 0 <= size <= most:
        raise TooLarge(
            f"{title} unpacks to {in_mebibytes(size)}, more than the limit of {in_mebibytes(most)}"
        )


def in_mebibytes(size: float) -> str:
    """Return a size in words."""
    return f"{size / 2**20:,.0f} MiB" if size < 2**50 else "over 2**50 bytes"


@runtime_checkable
class Source(Protocol):
    """A file that is read from its beginning to its end."""

    def read(self, size: int, /) -> bytes: ...


def xz_blocks(file: Source) -> Iterator[bytes]:
    """Yield the unpacked content of an xz file block by block.

    Raises lzma.LZMAError for bytes that are not a complete xz stream, or need more than `MEMORY`.
    """
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
    while not unpacker.eof:
        packed = file.read(BLOCK) if unpacker.needs_input else b""
        if not packed and unpacker.needs_input:
            raise lzma.LZMAError("the compressed data end too early")
        yield unpacker.decompress(packed, BLOCK)
    if unpacker.unused_data or file.read(1):
        raise lzma.LZMAError("bytes follow the end of the compressed data")


def unxz(content: bytes, most: int | None = None) -> bytes:
    """Return the unpacked content of an xz file; raises `TooLarge` and lzma.LZMAError."""
    return _joined(xz_blocks(io.BytesIO(content)), limit_of(len(content)) if most is None else most)


def unpacked_text(content: bytes, suffix: str) -> bytes:
    """Return the content of a file packed by gzip, bzip2, xz or zip (of one member), by its ending.

    Raises `TooLarge`, and ValueError for a file that is not complete.
    """
    try:
        return _joined(_PACKED[suffix](content), limit_of(len(content)))
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"it is not a complete {suffix} file: {error}") from error


def _joined(blocks: Iterator[bytes], most: int) -> bytes:
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > most:
            raise TooLarge(f"it unpacks to more than the limit of {in_mebibytes(most)}")
    return bytes(content)


def _gzip_blocks(content: bytes) -> Iterator[bytes]:
    import gzip

    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        while block := file.read(BLOCK):
            yield block


def _bz2_blocks(content: bytes) -> Iterator[bytes]:
    with bz2.BZ2File(io.BytesIO(content)) as file:
        while block := file.read(BLOCK):
            yield block


def _zip_blocks(content: bytes) -> Iterator[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) != 1:
            raise ValueError(f"it has {len(members)} members: needed one table")
        require_size(members[0].file_size, limit_of(len(content)), members[0].filename)
        with archive.open(members[0]) as file:
            while block := file.read(BLOCK):
                yield block


_PACKED: Mapping[str, Any] = {
    ".gz": _gzip_blocks,
    ".bz2": _bz2_blocks,
    ".xz": lambda content: xz_blocks(io.BytesIO(content)),
    ".zip": _zip_blocks,
}

PACKED = tuple(_PACKED)
"""Endings of packed text files."""
