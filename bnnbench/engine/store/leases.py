"""Leases of drivers on runs, so that several drivers can work on one store.

A driver has a heartbeat file, whose time it renews every few seconds. A lease is a hard link to
that file: it appears atomically, only one driver can make it, and renewing the file renews every
lease. Clocks of machines are never compared: a driver is dead if its file has not changed for a
while by the observer's clock, or immediately if its process ended on this machine.
"""

import errno
import json
import math
import os
import platform
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict

from bnnbench.datasets.reading.shape import conforms
from bnnbench.datasets.reading.whole_files import open_regular, read_regular, write_whole
from bnnbench.engine.store.store import Unwritable

LEASES, JOBS = ".claims", ".jobs"
"""Folders in a store: drivers' leases on runs, and files of Slurm's jobs."""

SECONDS_BETWEEN_BEATS = 5.0

EXPIRY_SECONDS = 120.0
"""Time after which the leases of a silent driver on another machine expire."""

WAIT_SECONDS = 0.2

NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


DRIVER_NAME = re.compile(r"[\w-]+-\d+-[0-9a-f]{8}")
"""Machine, process and random digits."""


class Identity(TypedDict):
    """A driver's description of itself in its file."""

    driver: str
    host: str
    machine: Sequence[str]
    process: int
    started: str | None


@dataclass
class Heartbeat:
    """Watches the heartbeat file of a driver."""

    path: Path
    _modified: int | None = None
    _since: float = field(default_factory=time.monotonic)

    def beats(self) -> bool:
        """Return whether the file exists and has changed lately; a first call returns True."""
        try:
            with open_regular(self.path) as file:  # opening makes a file server refresh it
                modified = os.fstat(file.fileno()).st_mtime_ns
        except FileNotFoundError:
            return False
        except OSError:
            modified = self._modified
        if modified != self._modified:
            self._modified, self._since = modified, time.monotonic()
        return time.monotonic() - self._since < EXPIRY_SECONDS


class Leases:
    """This driver's leases, in a folder shared by all drivers of a store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._driver = ""
        self._held: set[str] = set()
        self._heartbeats: dict[str, Heartbeat] = {}
        self._stopped = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    @property
    def heartbeat(self) -> Path:
        """The file that this driver renews while it lives."""
        return self._folder / f"{self._driver}.driver"

    def __enter__(self) -> "Leases":
        try:
            self._register()
        except OSError as error:
            raise Unwritable(
                f"cannot write results: {error}; choose a folder with --out"
            ) from error
        self._heart.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._heart.join()
        for name in list(self._held):
            self.release(name)
        with suppress(OSError):  # saves the next driver this work
            self._reap_dead()
        with suppress(OSError):
            self.heartbeat.unlink(missing_ok=True)

    def acquire(self, name: str) -> bool:
        """Return whether this driver now has the lease, taking it from a dead driver if needed."""
        if self._make(name):
            return True
        holder = self._holder(name)
        if holder is None:  # released a moment ago, or unreadable
            self._reap_unreadable(name)
            return self._make(name)
        return not self._lives(holder) and self._reap(holder) and self._make(name)

    def holds(self, name: str) -> bool:
        """Return whether this driver still has the lease; others may have considered it dead."""
        return self._holder(name) == self._driver

    def release(self, name: str) -> None:
        """Release the lease."""
        with suppress(OSError):  # what stays is removed once this driver has ended
            if self.holds(name):
                self._path(name).unlink(missing_ok=True)
        self._held.discard(name)  # only now: Ctrl-C may come at any moment

    @contextmanager
    def held(self, name: str, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold a lease that every driver needs for a short time; `waiting` is called once."""
        if not self.acquire(name):
            waiting()
            while not self.acquire(name):
                time.sleep(WAIT_SECONDS)
        try:
            yield
        finally:
            self.release(name)

    def others(self, silent_seconds: float = math.inf) -> list[str]:
        """Return "process N on HOST" for each other driver that is alive.

        Drivers on other machines count if they were silent for at most `silent_seconds`. On this
        machine the process itself is checked, as it may be stopped.
        """
        names = []
        for path in sorted(self._folder.glob("*.driver")):
            identity = None if path.stem == self._driver else self._identity(path.name)
            heard = identity and (_is_here(identity) or _age(path) <= silent_seconds)
            if identity and heard and self._lives(path.stem):
                names.append(f"process {identity['process']} on {identity['host']}")
        return names

    def unknown_files(self) -> list[Path]:
        """Return the files named like drivers or leases that no driver wrote."""
        return [
            path
            for path in self._files()
            if not path.is_symlink() and path.exists() and self._identity(path.name) is None
        ]

    def dead(self) -> list[Path]:
        """Return the files of dead drivers, and their leases."""
        return [
            path
            for path in self._files()
            if (driver := self._driver_of(path)) is None or not self._lives(driver)
        ]

    def _files(self) -> list[Path]:
        return sorted([*self._folder.glob("*.driver"), *self._folder.glob("*.claim")])

    def _register(self) -> None:
        """Create the file of this driver."""
        machine = re.sub(r"[^\w-]", "_", platform.node())
        self._driver = f"{machine}-{os.getpid()}-{secrets.token_hex(4)}"
        identity = {
            "driver": self._driver,
            "host": platform.node(),
            "machine": _machine(),
            "process": os.getpid(),
            "started": _started(os.getpid()),
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.heartbeat, json.dumps(identity).encode())

    def _beat(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_BEATS):
            with suppress(
                OSError
            ):  # the disk is unavailable for a moment, or others considered us dead
                os.utime(self.heartbeat)

    def _make(self, name: str) -> bool:
        """Return whether this driver has the lease, making it if there is none."""
        self._held.add(name)  # set before it is true: Ctrl-C may come at any moment
        try:
            self._link(name)
        except FileExistsError:
            if self.holds(name):  # also if a file server's reply was lost
                return True
            self._held.discard(name)
            return False
        except FileNotFoundError:  # others considered us dead and removed the file
            self._register()
            return self._make(name)
        except OSError as error:
            self._held.discard(name)
            raise Unwritable(
                f"cannot lease runs in {self._folder}: {error.strerror or error}. All stored runs "
                "are complete; repeat the command, or choose another folder with --out"
            ) from error
        return True

    def _link(self, name: str) -> None:
        try:
            os.link(self.heartbeat, self._path(name))
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            os.stat(self.heartbeat)
            os.symlink(self.heartbeat.name, self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.claim"

    def _holder(self, name: str) -> str | None:
        """Return the driver that has the lease; None if absent."""
        with suppress(OSError):  # a symbolic link names the driver even if its file is gone
            return Path(os.readlink(self._path(name))).stem
        identity = self._identity(f"{name}.claim")
        return str(identity["driver"]) if identity else None

    def _driver_of(self, path: Path) -> str | None:
        """Return the driver of a file or a lease; None for a lease that is gone."""
        return path.stem if path.suffix == ".driver" else self._holder(path.stem)

    def _identity(self, file: str) -> dict[str, Any] | None:
        """Return a driver's description of itself; None if it cannot be read."""
        try:
            identity = json.loads(read_regular(self._folder / file))
        except (OSError, ValueError, RecursionError):
            return None
        valid = conforms(identity, Identity) and DRIVER_NAME.fullmatch(identity["driver"])
        return identity if valid else None

    def _lives(self, driver: str) -> bool:
        path = self._folder / f"{driver}.driver"
        identity = self._identity(path.name)
        if identity and _is_here(identity):
            return _runs(identity["process"], identity["started"])
        # A driver must not count as dead because a file server is unavailable for a moment.
        return self._heartbeats.setdefault(driver, Heartbeat(path)).beats()

    def _reap_dead(self) -> None:
        """Remove the files of dead drivers that no other driver has taken over."""
        for path in self.dead():
            if (driver := self._driver_of(path)) is not None:  # None after it was removed
                self._reap(driver)

    def _reap_unreadable(self, name: str) -> None:
        """Remove a lease without a readable driver that has not been renewed for long."""
        path = self._path(name)
        if path.is_file() and not self._heartbeats.setdefault(path.name, Heartbeat(path)).beats():
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _reap(self, driver: str) -> bool:
        """Return whether this driver removed all leases of a dead driver.

        Only one driver may do so, as a second one could remove leases made since. If it dies
        meanwhile, its own heir continues.
        """
        heir = f"heir-of-{driver}"
        if not self.acquire(heir):
            return False
        try:
            self._remove_files_of(driver)
        except OSError:
            return False
        finally:
            self.release(heir)
        return True

    def _remove_files_of(self, driver: str) -> None:
        """Remove a dead driver's file, after which it can make no lease, and then its leases."""
        (self._folder / f"{driver}.driver").unlink(missing_ok=True)
        for path in self._folder.glob("*.claim"):
            if self._holder(path.name.removesuffix(".claim")) == driver:
                path.unlink(missing_ok=True)


def _is_here(identity: Mapping[str, Any]) -> bool:
    """Return whether a driver is a process of this machine."""
    return identity["machine"] == _machine()


def _age(path: Path) -> float:
    """Return the seconds since a driver renewed its file."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return math.inf


def _machine() -> list[str]:
    """Return names that distinguish machines, their boots, and containers on one machine."""
    names = [platform.node()]
    with suppress(OSError):
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        names.append(os.readlink("/proc/self/ns/pid"))
    return names


def _started(process: int) -> str | None:
    """Return the start time of a process if available: process numbers are reused."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def _runs(process: int, started: object) -> bool:
    """Return whether a process of this machine is alive; a zombie is not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OverflowError:  # no system has this number
        return False
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True
    return state[0] not in "ZX" and state[19] == started
