"""Write folders atomically, and replace files in them."""

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
"""Number of files synced at once, so that a journal commits them together."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS."""

_WORKING_DIRECTORY = -100
"""AT_FDCWD of Linux: paths relative to the working directory."""


def change(folder: Path, name: str, changed: Callable[[bytes], bytes | None]) -> None:
    """Replace a file by the result of `changed` for its content; None leaves it unchanged.

    Everything happens in the folder that is at `folder` at the start: if another process puts
    another folder there meanwhile, that one stays unchanged.
    """
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    temporary = f".{name}.{secrets.token_hex(4)}"
    try:
        with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=directory), "rb") as file:
            content = changed(file.read())
        if content is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(temporary, flags, 0o644, dir_fd=directory), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        os.fsync(directory)
    except FileNotFoundError:
        return  # another process has removed the folder already
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    finally:
        os.close(directory)


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and folder entries are on the disk. Raises OSError.

    They are synced all at once: one after another, each would wait for its own commit.
    """
    at_once(settle, list(paths))


def at_once(act: Callable[[T], None], items: Sequence[T]) -> None:
    """Apply `act`, which waits for the disk, to all items; raise the first error at the end."""
    if len(items) == 1:
        act(items[0])
        return
    waiting = [_pool().submit(act, item) for item in items]
    wait(waiting)
    for future in waiting:
        future.result()


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SYNCING, thread_name_prefix="sync")


def put(source: Path, target: Path) -> None:
    """Move the folder `source` to `target`; an earlier target is then at `source`, or next to it.

    A reader finds one of the two at any moment, and two simultaneous calls both succeed. If the
    filesystem cannot exchange two folders (NFS), `target` is missing for a moment, and its earlier
    content waits in a hidden folder with the same name.
    """
    while True:
        try:
            source.rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        try:
            if exchange(source, target):
                return
            aside = tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)
            target.rename(aside)
        except FileNotFoundError:  # another process moved it: the target is free
            continue


def exchange(first: Path, second: Path) -> bool:
    """Swap two paths atomically, and return whether the system can. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(first), os.fsencode(second)
    if sys.platform == "darwin":
        failed = libc.renamex_np(*names, _EXCHANGE)
    elif hasattr(libc, "renameat2"):
        failed = libc.renameat2(
            _WORKING_DIRECTORY, names[0], _WORKING_DIRECTORY, names[1], _EXCHANGE
        )
    else:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(first), None, str(second))
