"""Files that appear whole or not at all, and stay once a call has returned."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_whole(place: Path, content: bytes) -> None:
    """Write a file whole or not at all; it is on the disk when this returns."""
    with whole(place) as file:
        file.write(content)


@contextmanager
def whole(place: Path, final: Callable[[], Path] | None = None) -> Iterator[IO[bytes]]:
    """Open a new file for writing that is at its place, on the disk, at the end of the block.

    If the block raises, nothing appears. `final` is asked at the end for a place in the same
    folder that depends on the content.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, place if final is None else final())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    settle(place.parent)


def settle(path: Path) -> None:
    """Wait until a file's content or a folder's names are on the disk; raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network filesystems do not sync folders, whose entries they write at once.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(handle)
