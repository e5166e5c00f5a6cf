"""Checkpoints on disk: written atomically, and read only if they are unchanged.

A folder has a ledger and a file for every stage of a fit. The ledger names the files by their
digests and is replaced last: a process that is killed while writing leaves the old ledger and the
old files. No file can make its reader run code.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, TypedDict, cast

import torch

from bnnbench.datasets.reading.shape import faults
from bnnbench.datasets.reading.whole_files import open_regular, read_regular, whole, write_whole

LEDGER = "ledger.json"
OWN_NAME = re.compile(r"ledger\.json|.+-[0-9a-f]{16}\.pt|\..+\.[a-z0-9_]{8}", re.DOTALL)
"""The ledger, a state, and a file that is being written."""

_PIECE = 2**22


class Damaged(ValueError):
    """A file is missing or has changed since it was written; the message names it."""


@dataclass(frozen=True)
class Stage:
    """A ledger's entry for the file of a stage."""

    file: str
    sha256: str
    origin: str
    """Fingerprint of the stage's initial state."""
    done: int
    """Number of finished epochs."""


class Identity(TypedDict, total=False):
    """The entries of a fit's description that readers rely on."""

    runs: Sequence[str]


@dataclass
class Ledger:
    """Facts about a fit and its attempts."""

    identity: Annotated[dict[str, Any], Identity]
    """Description of the fit, equal for all its attempts."""
    code: dict[str, str] = field(default_factory=dict)
    """Digests of the sources in use at the last checkpoint."""
    resumed: int = 0
    """Number of attempts that continued from a checkpoint."""
    seconds: float = 0.0
    """Time of all attempts, up to the last checkpoint of each."""
    peak_bytes: float = 0.0
    """Peak memory of all attempts, each measured at its last checkpoint."""
    stages: dict[str, Stage] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Replace the folder's ledger."""
        fields = asdict(self)
        text = json.dumps(fields | {"sha256": _digest(fields)}, indent=1, sort_keys=True)
        write_whole(folder / LEDGER, text.encode())

    @staticmethod
    def read(folder: Path) -> "Ledger | None":
        """Return the folder's ledger, None if absent; raises `Damaged`."""
        path = folder / LEDGER
        try:
            fields = json.loads(read_regular(path))
            if fields.pop("sha256") != _digest(fields):
                raise ValueError("its digest does not match")
            stages = {
                name: Stage(**fields_of_stage)
                for name, fields_of_stage in fields.pop("stages").items()
            }
            ledger = Ledger(**fields, stages=stages)
            if wrong := list(faults(ledger, Ledger)):
                raise ValueError(f"not a ledger; wrong fields: {', '.join(wrong)}")
            return ledger
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Damaged(f"{path}: {error}") from error


def write_state(folder: Path, name: str, state: Any) -> tuple[str, str]:
    """Write plain values and return the file's name, which begins with `name`, and its SHA-256.

    Raises OSError if the file cannot be written.
    """

    def final() -> Path:
        return folder / f"{name}-{hashing.digest.hexdigest()[:16]}.pt"

    with whole(folder / name, final) as file:
        hashing = _Hashing(file)
        try:
            torch.save(state, cast(BinaryIO, hashing))  # torch only calls write and flush
        except RuntimeError as error:  # torch's error for a full disk
            raise OSError(f"{folder / name}: {hashing.failure or error}") from error
    return final().name, hashing.digest.hexdigest()


def read_state(folder: Path, stage: Stage) -> Any:
    """Return the plain values of a stage; raises `Damaged`."""
    path = folder / stage.file
    if path.parent != folder:
        raise Damaged(f"{path}: outside its folder")
    try:
        digest = hashlib.sha256()
        with open_regular(path) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        if digest.hexdigest() != stage.sha256:
            raise ValueError("its digest does not match")
        return torch.load(path, weights_only=True)
    except Exception as error:  # torch raises errors of many kinds for damaged files
        raise Damaged(f"{path}: {error}") from error


def is_own(path: Path) -> bool:
    """Return whether a file has a name that this module gives, and is neither a link nor a FIFO."""
    return OWN_NAME.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


def remove(folder: Path) -> None:
    """Remove a fit's checkpoints and their folder, and the parent folder if it is empty.

    Other files stay, as do folders that contain them. If the folder is a link, nothing is removed.
    """
    with contextlib.suppress(OSError):
        if not folder.is_symlink():
            for path in filter(is_own, list(folder.iterdir())):
                path.unlink(missing_ok=True)
            folder.rmdir()
            folder.parent.rmdir()


def remove_strays(folder: Path, ledger: Ledger) -> None:
    """Remove checkpoints that the ledger does not name, left by killed processes."""
    named = {LEDGER, *(stage.file for stage in ledger.stages.values())}
    for path in filter(is_own, list(folder.iterdir())):
        if path.name not in named:
            path.unlink(missing_ok=True)


class _Hashing:
    """A file that keeps a running digest of its content."""

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
