"""Tar archives of plain files, whose headers are checked before any content is read.

They are written as USTAR. The extensions that let a header stand for another size or name are not
read: sparse files, long names, and extended headers except for times and owners.
"""

import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from bnnbench.datasets.reading.bounded import Source, require_size, xz_blocks

BLOCK = tarfile.BLOCKSIZE

LONGEST_END = tarfile.RECORDSIZE + BLOCK
"""Maximum bytes of zeros that end an archive."""

PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)

LONGEST_EXTENSION = 2**12
"""Maximum bytes of an extended header."""

_HARMLESS = re.compile(rb"(\d+ (mtime|atime|ctime|uid|gid|uname|gname)=[^\n]*\n)*")

WRITTEN_ANEW = "only plain files, as `bnnbench` writes them, are read"


@dataclass(frozen=True)
class Member:
    """A file of an archive. Its content is read before the next member, or skipped."""

    name: str
    size: int
    content: "_Content"

    def read(self) -> bytes:
        """Return the content. Raises EOFError if the archive is truncated."""
        return self.content.whole()


def members(source: Source, largest: int, most: int) -> Iterator[Member]:
    """Yield the files of an archive; folders are passed over.

    Raises `bounded.TooLarge` for a file of more than `largest` bytes, or once all together exceed
    `most`; tarfile.TarError for any other member, or an altered header; EOFError.
    """
    together = 0
    while entry := _header(_exactly(source, BLOCK)):
        if entry.type == tarfile.XHDTYPE and entry.size <= LONGEST_EXTENSION:
            _require_harmless(_Content(source, entry.size).whole())
            continue
        if entry.type == tarfile.DIRTYPE and not entry.size:
            continue
        if entry.type not in PLAIN:
            kind = entry.type.decode("ascii", "backslashreplace")
            raise tarfile.ReadError(f"{entry.name!r} is of kind {kind!r}: {WRITTEN_ANEW}")
        require_size(entry.size, largest, repr(entry.name))
        together += entry.size
        require_size(together, most, "all of it")
        content = _Content(source, entry.size)
        yield Member(entry.name, entry.size, content)
        content.skip()
    _require_end(source)


def _header(block: bytes) -> tarfile.TarInfo | None:
    """Return a member's header; None for the block of zeros after the last member.

    Raises tarfile.TarError.
    """
    if not any(block):
        return None
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise tarfile.ReadError(f"a member's header is damaged: {error}") from error


def _require_harmless(extension: bytes) -> None:
    """Raise tarfile.TarError unless an extended header states only times and owners."""
    if not _HARMLESS.fullmatch(extension):
        raise tarfile.ReadError(f"an extended header changes a name or a size: {WRITTEN_ANEW}")


def _require_end(source: Source) -> None:
    rest = source.read(LONGEST_END)
    if len(rest) < BLOCK or any(rest) or len(rest) == LONGEST_END:
        raise tarfile.ReadError("its end is missing or altered")


def _exactly(source: Source, size: int) -> bytes:
    content = source.read(size)
    if len(content) < size:
        raise EOFError("the archive ends too early")
    return content


class _Content:
    """The content of a member, followed by zeros up to the next header."""

    def __init__(self, source: Source, size: int) -> None:
        self._source, self._size = source, size
        self._left = size + -size % BLOCK

    def whole(self) -> bytes:
        content = _exactly(self._source, self._left)
        self._left = 0
        return content[: self._size]

    def pass_over(self, file: IO[bytes]) -> None:
        """Move on in a file on disk, of which nothing is read."""
        file.seek(self._left, os.SEEK_CUR)
        self._left = 0

    def skip(self) -> None:
        while self._left:
            self._left -= len(_exactly(self._source, min(self._left, 2**20)))


class Unpacked:
    """The content of an xz file, unpacked while it is read."""

    def __init__(self, file: Source) -> None:
        self._blocks: Iterable[bytes] = xz_blocks(file)
        self._ready = bytearray()

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, or fewer at the end. Raises lzma.LZMAError."""
        for block in self._blocks:
            self._ready += block
            if len(self._ready) >= size:
                break
        content = bytes(self._ready[:size])
        del self._ready[:size]
        return content
