"""Checkpoints on disk: written whole or not at all, and read only if they are as written.

A folder has a ledger and a file for every stage of a fit. The ledger names the files by their
digests, and is replaced last: a process that is killed while it writes leaves the old ledger and
the old files. No file can make its reader run code.
"""

import contextlib
import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import torch

from bnnbench.datasets.reading.whole_files import whole, write_whole

LEDGER = "ledger.json"
_PIECE = 2**22


class Damaged(ValueError):
    """A file is missing or not as it was written; names it."""


@dataclass(frozen=True)
class Stage:
    """What a ledger says of a stage's file."""

    file: str
    sha256: str
    origin: str
    """Fingerprint of the state from which the stage began."""
    done: int
    """Epochs that were finished."""


@dataclass
class Ledger:
    """What is known of a fit and the attempts at it."""

    identity: dict[str, Any]
    """What is fitted: equal for every attempt at the same fit."""
    code: dict[str, str] = field(default_factory=dict)
    """Digests of the sources that were in use at the last checkpoint."""
    resumed: int = 0
    """How many attempts went on from a checkpoint."""
    seconds: float = 0.0
    """Spent in all attempts, up to the last checkpoint of each."""
    peak_bytes: float = 0.0
    """The most memory that an attempt had needed at its last checkpoint."""
    stages: dict[str, Stage] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Replace the folder's ledger."""
        fields = asdict(self)
        text = json.dumps(fields | {"sha256": _digest(fields)}, indent=1, sort_keys=True)
        write_whole(folder / LEDGER, text.encode())

    @staticmethod
    def read(folder: Path) -> "Ledger | None":
        """Return the folder's ledger, None where there is none; raises `Damaged`."""
        path = folder / LEDGER
        try:
            fields = json.loads(path.read_bytes())
            if fields.pop("sha256") != _digest(fields):
                raise ValueError("its digest is another")
            stages = {name: Stage(**one) for name, one in fields.pop("stages").items()}
            return Ledger(**fields, stages=stages)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(f"{path}: {error}") from error


def write_state(folder: Path, name: str, state: Any) -> tuple[str, str]:
    """Write plain values and return the file's name, which begins with `name`, and its SHA-256.

    Raises OSError where that is impossible.
    """

    def final() -> Path:
        return folder / f"{name}-{hashing.digest.hexdigest()[:16]}.pt"

    with whole(folder / name, final) as file:
        hashing = _Hashing(file)
        try:
            torch.save(state, cast(BinaryIO, hashing))  # it writes and flushes, no more
        except RuntimeError as error:  # what torch makes of a full disk
            raise OSError(f"{folder / name}: {hashing.failure or error}") from error
    return final().name, hashing.digest.hexdigest()


def read_state(folder: Path, stage: Stage) -> Any:
    """Return the plain values of a stage; raises `Damaged`."""
    path = folder / stage.file
    if path.parent != folder:
        raise Damaged(f"{path}: outside of its folder")
    try:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        if digest.hexdigest() != stage.sha256:
            raise ValueError("its digest is another")
        return torch.load(path, weights_only=True)
    except Exception as error:  # torch raises errors of many kinds for what it cannot read
        raise Damaged(f"{path}: {error}") from error


def remove(folder: Path) -> None:
    """Remove a folder of checkpoints, and that of all folders when it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def remove_strays(folder: Path, ledger: Ledger) -> None:
    """Remove what no ledger names: what killed processes began to write."""
    named = {LEDGER, *(stage.file for stage in ledger.stages.values())}
    for path in folder.iterdir():
        if path.name not in named:
            path.unlink(missing_ok=True)


class _Hashing:
    """A file that knows the digest of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()
        self.failure: OSError | None = None

    def write(self, content: bytes | memoryview) -> int:
        self.digest.update(content)
        try:
            return self._file.write(content)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        self._file.flush()


def _digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
