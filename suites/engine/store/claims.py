"""Which driver carries out which run, where several work on one store.

A driver has a file whose time it renews every few seconds. A claim is a second name, a hard
link, of that file: it appears whole, one driver alone can make it, and renewing the file renews
every claim. No clock is compared with another: a driver is dead when its file has not changed
for a while by the clock of the one who looks, or at once where its process ended on this machine.
"""

import errno
import json
import os
import platform
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.suites.engine.store.store import Unwritable

SECONDS_BETWEEN_BEATS = 5.0

EXPIRY_SECONDS = 120.0
"""Claims of a driver on another machine that has not been heard of for so long are free."""

WAIT_SECONDS = 0.2

NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


@dataclass
class Pulse:
    """Watches the file that a driver renews."""

    path: Path
    _seen: int | None = None
    _since: float = field(default_factory=time.monotonic)

    def beats(self) -> bool:
        """Return whether the file is there and changed of late; a first look believes it."""
        try:
            with self.path.open("rb") as file:  # opening asks a file server anew
                changed = os.fstat(file.fileno()).st_mtime_ns
        except FileNotFoundError:
            return False
        except OSError:
            changed = self._seen
        if changed != self._seen:
            self._seen, self._since = changed, time.monotonic()
        return time.monotonic() - self._since < EXPIRY_SECONDS


class Claims:
    """The claims of this driver in a folder that all drivers of a store share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._driver = ""
        self._held: set[str] = set()
        self._pulses: dict[str, Pulse] = {}
        self._stopped = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    @property
    def pulse(self) -> Path:
        """The file that this driver renews as long as it lives."""
        return self._folder / f"{self._driver}.driver"

    def __enter__(self) -> "Claims":
        try:
            self._register()
        except OSError as error:
            raise Unwritable(f"cannot write results: {error}; choose a folder by --out") from error
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
        with suppress(OSError):  # a courtesy to whoever comes next
            self._bury_the_dead()
        self.pulse.unlink(missing_ok=True)

    def take(self, name: str) -> bool:
        """Return whether this driver has the claim now; that of a dead driver passes to it."""
        if self._make(name):
            return True
        holder = self._holder(name)
        if holder is None:
            return self._make(name)  # released a moment ago
        return not self._lives(holder) and self._bury(holder) and self._make(name)

    def holds(self, name: str) -> bool:
        """Return whether the claim is still this driver's; it was not dead to others, then."""
        return self._holder(name) == self._driver

    def release(self, name: str) -> None:
        """Give the claim up."""
        self._held.discard(name)
        if self.holds(name):
            self._claim(name).unlink(missing_ok=True)

    @contextmanager
    def held(self, name: str, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold a claim that every driver needs for a short time; `waiting` is called once."""
        if not self.take(name):
            waiting()
            while not self.take(name):
                time.sleep(WAIT_SECONDS)
        try:
            yield
        finally:
            self.release(name)

    def others(self) -> list[str]:
        """Return the other drivers that live, in words."""
        drivers = {path.stem for path in self._folder.glob("*.driver")} - {self._driver}
        found = [self._identity(f"{driver}.driver") for driver in sorted(drivers)]
        return [
            f"process {who['process']} on {who['host']}"
            for who in found
            if who and self._lives(str(who["driver"]))
        ]

    def dead(self) -> list[Path]:
        """Return the files of drivers that live no more, and their claims."""
        paths = (path for kind in ("driver", "claim") for path in self._folder.glob(f"*.{kind}"))
        return [
            path
            for path in sorted(paths)
            if (driver := self._driver_of(path)) is None or not self._lives(driver)
        ]

    def _register(self) -> None:
        """Make the file of a new driver."""
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
        write_whole(self.pulse, json.dumps(identity).encode())

    def _beat(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_BEATS):
            with suppress(OSError):  # a disk that is away for a moment, or others took us for dead
                os.utime(self.pulse)

    def _make(self, name: str) -> bool:
        """Return whether this driver has the claim, having made it if there was none."""
        try:
            self._link(name)
        except FileExistsError:
            return self.holds(name)  # also where a file server's answer was lost
        except FileNotFoundError:  # others took us for dead and removed the file
            self._register()
            return self._make(name)
        self._held.add(name)
        return True

    def _link(self, name: str) -> None:
        try:
            os.link(self.pulse, self._claim(name))
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            os.stat(self.pulse)
            os.symlink(self.pulse.name, self._claim(name))

    def _claim(self, name: str) -> Path:
        return self._folder / f"{name}.claim"

    def _holder(self, name: str) -> str | None:
        """Return the driver that has the claim, or None."""
        with suppress(OSError):  # a symbolic link also tells whose it is when that file is gone
            return Path(os.readlink(self._claim(name))).stem
        identity = self._identity(f"{name}.claim")
        return str(identity["driver"]) if identity else None

    def _driver_of(self, path: Path) -> str | None:
        """Return whose file or claim a path is; None for a claim that is gone."""
        return path.stem if path.suffix == ".driver" else self._holder(path.stem)

    def _identity(self, file: str) -> dict[str, object] | None:
        try:
            return json.loads((self._folder / file).read_text())
        except OSError:
            return None

    def _lives(self, driver: str) -> bool:
        path = self._folder / f"{driver}.driver"
        try:
            who = json.loads(path.read_text())
        except FileNotFoundError:
            return False
        except OSError:  # a file server that is away for a moment kills nobody
            who = None
        if who and who["machine"] == _machine():
            return _runs(int(who["process"]), who["started"])
        return self._pulses.setdefault(driver, Pulse(path)).beats()

    def _bury_the_dead(self) -> None:
        """Remove what dead drivers have left that nobody else wanted."""
        for path in self.dead():
            if (driver := self._driver_of(path)) is not None:  # what was buried has none
                self._bury(driver)

    def _bury(self, driver: str) -> bool:
        """Return whether this driver removed all claims of a dead one.

        One alone may do so: a second one could remove claims that were made since. If that one
        dies over it, its own heir goes on.
        """
        heir = f"heir-of-{driver}"
        if not self.take(heir):
            return False
        (self._folder / f"{driver}.driver").unlink(missing_ok=True)  # nothing can be linked to it
        for path in self._folder.glob("*.claim"):
            if self._holder(path.name.removesuffix(".claim")) == driver:
                path.unlink(missing_ok=True)
        self.release(heir)
        return True


def _machine() -> list[str]:
    """Return what tells apart machines, their starts, and containers of one machine."""
    known = [platform.node()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        known.append(os.readlink("/proc/self/ns/pid"))
    return known


def _started(process: int) -> str | None:
    """Return when a process started, where the system tells; numbers of processes return."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def _runs(process: int, started: object) -> bool:
    """Return whether a process of this machine lives; one that nobody waited for does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True
    return state[0] not in "ZX" and state[19] == started
