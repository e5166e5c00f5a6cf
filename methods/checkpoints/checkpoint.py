"""Checkpoints from which a long fit continues after its process has ended.

The engine gives a fit a folder for checkpoints, by `checkpointing`. A training loop is written as
`for epoch in epochs(total, *parts)` instead of `range(total)`, where `parts` is all that changes
from epoch to epoch. The loops are the stages of a fit, one after another: a finished stage gets its
last state back at once, and an unfinished one continues from its last checkpoint, bit for bit on a
CPU. Without a folder, or for fits of less than a minute, nothing is written.
"""

import functools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

import torch

from bnnbench.methods.checkpoints import code as checkpoint_code
from bnnbench.methods.checkpoints.files import (
    Damaged,
    Ledger,
    Stage,
    read_state,
    remove,
    remove_strays,
    write_state,
)
from bnnbench.methods.checkpoints.parts import Part, fingerprint, resume, state_of

SECONDS = 60.0
"""Minimum number of seconds between two checkpoints."""
LARGEST_SHARE = 0.01
"""Maximum share of a fit's time spent on writing."""

_log = logging.getLogger(__name__)


@dataclass
class CheckpointFolder:
    """A folder for the checkpoints of one fit, and the history of its earlier attempts."""

    folder: Path
    every: float = SECONDS
    """Minimum number of seconds between two checkpoints; 0: after each epoch."""
    peak_bytes: Callable[[], float] = lambda: 0.0
    """Peak memory of this attempt so far."""
    ledger: Ledger = field(default_factory=lambda: Ledger({}))
    notes: list[str] = field(default_factory=list)
    """Reasons why checkpoints were not used."""
    continued: bool = False
    """True if this attempt continued from a checkpoint."""
    _lock: Any = field(default_factory=Lock)
    _start: float = field(default_factory=time.monotonic)
    _writing: float = 0.0
    """Seconds that the last checkpoint took."""
    _earlier: float = 0.0

    @property
    def earlier_seconds(self) -> float:
        """Time of the attempts whose work this one continues."""
        return self._earlier if self.continued else 0.0

    @property
    def earlier_peak_bytes(self) -> float:
        """Peak memory of these attempts."""
        return self.ledger.peak_bytes if self.continued else 0.0

    @property
    def resumed(self) -> int:
        """Number of attempts that continued from a checkpoint, this one included."""
        return self.ledger.resumed if self.continued else 0

    def note(self, reason: object) -> None:
        """Record why a checkpoint is not used."""
        _log.warning("checkpoint not used: %s", reason)
        self.notes.append(str(reason))

    def open(self) -> None:
        """Take over an earlier attempt at the same fit; remove anything else from the folder."""
        identity = self.ledger.identity
        try:
            ledger = Ledger.read(self.folder)
        except Damaged as damage:
            self.note(damage)
            remove(self.folder)
            return
        if ledger is None:
            return
        differences = [name for name in identity if ledger.identity.get(name) != identity[name]]
        if differences := [*differences, *checkpoint_code.changed(ledger.code)]:
            self.note(f"{self.folder}: it differs in {', '.join(differences)}")
            remove(self.folder)
            return
        self.ledger, self._earlier = ledger, ledger.seconds
        remove_strays(self.folder, ledger)

    def find(self, name: str, origin: str) -> tuple[int, Any] | None:
        """Return finished epochs and state of the stage with this `origin`; None if unavailable."""
        with self._lock:
            stage = self.ledger.stages.get(name)
            if stage is None:
                return None
            if stage.origin != origin:
                self.note(f"{self.folder / stage.file}: it began from another state")
                return None
            try:
                state = read_state(self.folder, stage)
            except Damaged as damage:
                self.note(damage)
                return None
            if not self.continued:
                self.continued = True
                self.ledger.resumed += 1
                self._try(lambda: self.ledger.write(self.folder))
            return stage.done, state

    def is_due(self, seconds: float, finished: bool) -> bool:
        """Return whether to write a stage's state, which would take `seconds` to compute again.

        A finished stage is written sooner, for fits that have many short stages.
        """
        if not self.every:
            return True
        worth = seconds >= self._writing / LARGEST_SHARE
        return worth and (self._age if finished else seconds) >= self.every

    def keep(self, name: str, origin: str, done: int, states: list[Any]) -> None:
        """Write a stage's state; if that fails, the fit continues without it."""
        with self._lock:
            start = time.monotonic()
            self._try(lambda: self._write(name, origin, done, states))
            self._writing = time.monotonic() - start

    @property
    def _age(self) -> float:
        return time.monotonic() - self._start

    def _write(self, name: str, origin: str, done: int, states: list[Any]) -> None:
        file, sha256 = write_state(self.folder, name, states)
        before = self.ledger.stages.get(name)
        self.ledger.stages[name] = Stage(file, sha256, origin, done)
        self.ledger.seconds = self.earlier_seconds + self._age
        self.ledger.code |= checkpoint_code.in_use()
        self.ledger.peak_bytes = max(self.earlier_peak_bytes, self.peak_bytes())
        self.ledger.write(self.folder)
        if before and before.file != file:
            (self.folder / before.file).unlink(missing_ok=True)

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.note(error)


@dataclass
class _Scope:
    """A checkpoint folder, and the number of stages begun in this part of its fit."""

    checkpoints: CheckpointFolder
    path: tuple[str, ...] = ()
    begun: int = 0

    def next_stage(self) -> str:
        self.begun += 1
        return "-".join([*self.path, str(self.begun)])


_scope: ContextVar[_Scope | None] = ContextVar("checkpoints", default=None)


@contextmanager
def checkpointing(
    folder: Path,
    of: Mapping[str, Any],
    every: float = SECONDS,
    peak_bytes: Callable[[], float] = lambda: 0.0,
) -> Iterator[CheckpointFolder]:
    """Write checkpoints of the fit inside the block to this folder.

    `of` identifies the fit by JSON values; the version of torch is added to it. The folder is
    emptied if it belongs to another fit or to code that has changed.
    """
    checkpoint_code.digests()  # cached before the fit
    checkpoints = CheckpointFolder(
        folder, every, peak_bytes, Ledger({**of, "torch": str(torch.__version__)})
    )
    checkpoints.open()
    token = _scope.set(_Scope(checkpoints))
    try:
        yield checkpoints
    finally:
        _scope.reset(token)


def epochs(total: int, *parts: Part) -> Iterator[int]:
    """Yield the numbers of the remaining epochs, from 0, of a loop that changes `parts`.

    Anything else that the loop changes must follow from the parts and the epoch.
    """
    scope = _scope.get()
    if scope is None:
        yield from range(total)
        return
    checkpoints, name, done = scope.checkpoints, scope.next_stage(), 0
    origin = fingerprint(total, [state_of(part) for part in parts])
    if stored := checkpoints.find(name, origin):
        done, states = stored
        for part, state in zip(parts, states, strict=True):
            resume(part, state)
    since = time.monotonic()
    for epoch in range(done, total):
        yield epoch
        if checkpoints.is_due(time.monotonic() - since, epoch + 1 == total):
            checkpoints.keep(name, origin, epoch + 1, [state_of(part) for part in parts])
            since = time.monotonic()


def scopes(count: int) -> list[Callable[[], Any]]:
    """Return one context manager for each of `count` simultaneous fits, to be entered by threads.

    Each fit numbers its own stages.
    """
    outer = _scope.get()
    return [functools.partial(_inside, outer, str(number)) for number in range(count)]


@contextmanager
def _inside(outer: _Scope | None, name: str) -> Iterator[None]:
    inner = outer and replace(outer, path=(*outer.path, f"member{name}"), begun=0)
    token = _scope.set(inner)
    try:
        yield
    finally:
        _scope.reset(token)
