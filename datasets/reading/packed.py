"""Data files packed into parts that are small enough to transfer and restore byte for byte.

The parts, in their order, form one archive: a line of JSON with the files' names and digests, then
their encoded contents: CIFAR's images as lossless WebP, everything else by xz. Each part begins
with a line that states its number, its archive and its digest, so that parts may arrive one by one
and in any order.
"""

import hashlib
import itertools
import json
import lzma
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading import pixels
from bnnbench.datasets.reading.bounded import limit_of, unxz
from bnnbench.datasets.reading.whole_files import read_regular, write_whole

ENDING = ".pack"
MOST_PARTS, MOST_NAMED = 10_000, 20
"""Maximum number of an archive's parts, and of missing parts that a message names."""

LONGEST_HEAD = 300
"""Maximum length of a part's first line, in bytes."""

DECODE: Mapping[str, Callable[[bytes, int], bytes]] = {"images": pixels.decode, "xz": unxz}
"""The name of an encoding in an archive → its decoder, given the maximum size of the content."""


@dataclass(frozen=True)
class _Part:
    """One part as it was read."""

    path: Path
    archive: str
    number: int
    count: int
    content: bytes


def write(files: Mapping[str, Path], folder: Path, largest: int) -> list[Path]:
    """Write an archive of files (path in a data folder → present location) in parts.

    No part has more than `largest` bytes. Every file is restored and compared once before any part
    is written. Equal files give equal parts.
    """
    if largest <= LONGEST_HEAD:
        raise ValueError(f"a part needs more than {LONGEST_HEAD} bytes; got a maximum of {largest}")
    entries, contents = [], []
    for path in sorted(files):
        content = read_regular(files[path])
        coding, coded = _coded(content)
        assert DECODE[coding](coded, len(content)) == content, path
        entries.append(
            {"path": path, "sha256": _digest(content), "coding": coding, "bytes": len(coded)}
        )
        contents.append(coded)
    whole = b"".join([json.dumps(entries).encode(), b"\n", *contents])
    room = largest - LONGEST_HEAD
    pieces = [whole[start : start + room] for start in range(0, len(whole), room)]
    written = []
    for number, piece in enumerate(pieces, 1):
        head = {"archive": _digest(whole), "part": number, "of": len(pieces)}
        line = json.dumps(head | {"sha256": _digest(piece)}).encode() + b"\n"
        assert len(line) <= LONGEST_HEAD
        written.append(folder / f"part-{number}-of-{len(pieces)}{ENDING}")
        write_whole(written[-1], line + piece)
    return written


def read(parts: Iterable[Path], folder: Path) -> list[Path]:
    """Restore an archive's files into a data folder, and return their paths.

    Raises DataUnavailable if a part is missing and DataDamaged if one is altered; then no file is
    written. Each file appears atomically.
    """
    contents = [_part(path) for path in parts]
    if not contents:
        raise DataUnavailable("no part of an archive was given")
    if len({(part.archive, part.count) for part in contents}) > 1:
        raise DataDamaged(f"parts of several archives: {', '.join(str(p.path) for p in contents)}")
    by_number = {part.number: part for part in contents}
    count = contents[0].count
    numbers = (n for n in range(1, count + 1) if n not in by_number)
    if lacking := [str(n) for n in itertools.islice(numbers, MOST_NAMED)]:
        more = ", ..." * (count - len(by_number) > len(lacking))
        raise DataUnavailable(f"of {count} parts, these are missing: {', '.join(lacking)}{more}")
    whole = b"".join(by_number[number].content for number in range(1, count + 1))
    if _digest(whole) != contents[0].archive:
        raise DataDamaged("the parts together do not match the digest of their archive")
    files = {folder.joinpath(*_inside(path)): content for path, content in _contents(whole)}
    for place, content in files.items():
        write_whole(place, content)
    return list(files)


def _coded(content: bytes) -> tuple[str, bytes]:
    images = pixels.encode(content)
    return ("images", images) if images is not None else ("xz", lzma.compress(content))


def _part(path: Path) -> _Part:
    line, _, content = read_regular(path).partition(b"\n")
    try:
        head = json.loads(line)
        if head["sha256"] != _digest(content):
            raise ValueError("its digest does not match")
        number, count = int(head["part"]), int(head["of"])
        if not 1 <= number <= count <= MOST_PARTS:
            raise ValueError(f"part {number} of {count}")
        return _Part(path, str(head["archive"]), number, count, content)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise DataDamaged(f"{path} is truncated, altered or not a part: {error}") from error


def _contents(whole: bytes) -> list[tuple[str, bytes]]:
    """Return the path of every file of an archive, and its content, verified by its digest."""
    line, _, body = whole.partition(b"\n")
    entries, start, left = [], 0, limit_of(len(whole))
    try:
        for entry in json.loads(line):
            coded = body[start : start + entry["bytes"]]
            start += entry["bytes"]
            content = DECODE[entry["coding"]](coded, left)
            left -= len(content)
            if _digest(content) != entry["sha256"]:
                raise ValueError(f"{entry['path']} differs after restoring")
            if not isinstance(entry["path"], str):
                raise TypeError(f"{entry['path']!r} is no path")
            entries.append((entry["path"], content))
    except Exception as error:  # decoders raise all kinds of errors for other bytes
        raise DataDamaged(f"not an archive of data files: {error}") from error
    return entries


def _inside(path: str) -> Sequence[str]:
    """Return the components of a path; raises DataDamaged if it leads out of its folder."""
    pieces = PurePosixPath(path).parts
    outside = not pieces or PurePosixPath(path).is_absolute() or ".." in pieces
    if outside or not path.isprintable():
        raise DataDamaged(f"{path!r} leads out of the data folder, or is no name of a file")
    return pieces


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
