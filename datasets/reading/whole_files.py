"""Files that appear atomically and are durable once a call has returned."""

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; it is on disk when this returns."""
    with whole(path) as file:
        file.write(content)


@contextmanager
def whole(target: Path, final: Callable[[], Path] | None = None) -> Iterator[IO[bytes]]:
    """Open a new file that is moved to `target`, complete and on disk, at the end of the block.

    If the block raises, nothing appears. `final` is called at the end for another path in the same
    folder that depends on the content.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(PermissionError):  # in a sandbox, where the folder has no other users
            os.chmod(name, 0o644)
        os.replace(name, target if final is None else final())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    settle(target.parent)


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; raises OSError for a FIFO, socket or device, which might block."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.open("rb")


def read_regular(path: Path) -> bytes:
    """Return the content of a file; raises OSError like `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def settle(path: Path) -> None:
    """Wait until a file's content or a folder's entries are on disk; raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network filesystems cannot sync folders, whose entries they write at once.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(handle)
