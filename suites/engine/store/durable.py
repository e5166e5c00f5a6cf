"""Folders that appear whole or not at all, and files that are replaced in them."""

import contextlib
import ctypes
import errno
import functools
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from bnnbench.datasets.reading.whole_files import settle

T = TypeVar("T")

SYNCING = 16
"""Files that are handed to the disk at once: a journal then commits them together."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS."""

_HERE = -100
"""AT_FDCWD of Linux: relative paths start where the process is."""


def change(folder: Path, name: str, changed: Callable[[bytes], bytes | None]) -> None:
    """Replace a file by what `changed` makes of its content; None leaves it.

    All of it happens in the folder that is at `folder` when this begins: if another process puts
    another one there in the meantime, that one is left alone.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    made = f".{name}.{secrets.token_hex(4)}"
    try:
        with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=place), "rb") as file:
            content = changed(file.read())
        if content is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(made, flags, 0o644, dir_fd=place), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(made, name, src_dir_fd=place, dst_dir_fd=place)
        os.fsync(place)
    except FileNotFoundError:
        return  # that process has removed the folder already
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made, dir_fd=place)
        raise
    finally:
        os.close(place)


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and the entries of folders are on the disk; raises OSError.

    All at once: one after another, each would wait for a commit of its own.
    """
    at_once(settle, list(paths))


def at_once(act: Callable[[T], None], items: Sequence[T]) -> None:
    """Do to each item what waits for the disk; raises the first error when all are done."""
    if len(items) == 1:
        act(items[0])
        return
    waiting = [_pool().submit(act, item) for item in items]
    wait(waiting)
    for one in waiting:
        one.result()


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
