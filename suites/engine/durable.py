"""Files and folders that appear whole or not at all, and stay once a call has returned."""

import ctypes
import errno
import functools
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SYNCING = 16
"""Files that are handed to the disk at once: a journal then commits them together."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS."""

_HERE = -100
"""AT_FDCWD of Linux: relative paths start where the process is."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; it is on the disk when this returns."""
    write_each({path: content})


def write_each(contents: Mapping[Path, bytes]) -> None:
    """Write every file whole or not at all, and wait for the disk about as long as for one."""
    made: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            made[path] = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(name, 0o644)
        sync(made.values())
        for path in contents:
            os.replace(made[path], path)
            del made[path]
    except BaseException:
        for name in made.values():
            name.unlink(missing_ok=True)
        raise
    sync({path.parent for path in contents})


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and the entries of folders are on the disk; raises OSError.

    All at once: one after another, each would wait for a commit of its own.
    """
    paths = list(paths)
    if len(paths) == 1:
        _sync(paths[0])
    else:
        list(_pool().map(_sync, paths))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network filesystems do not sync folders, whose entries they write at once.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(handle)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SYNCING, thread_name_prefix="sync")


def put(made: Path, place: Path) -> None:
    """Move the folder `made` to `place`; what was there is then at `made`, or beside it.

    A reader finds the one or the other at any moment, and of two that put at once both
    succeed. Where the filesystem cannot exchange two folders (NFS), `place` is empty for a
    moment, and what was there waits in a folder of the same name behind a dot.
    """
    while True:
        try:
            made.rename(place)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        try:
            if exchange(made, place):
                return
            aside = tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent)
            place.rename(aside)
        except FileNotFoundError:  # another process took it away: the place is free
            continue


def exchange(one: Path, other: Path) -> bool:
    """Swap two paths in one step, and return whether the system can; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        failed = libc.renamex_np(*names, _EXCHANGE)
    elif hasattr(libc, "renameat2"):
        failed = libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    else:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))
