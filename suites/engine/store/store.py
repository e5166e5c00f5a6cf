"""One folder per run, named by what the run is; files appear whole or not at all."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.suites.engine.store.clock import Clock
from bnnbench.suites.engine.store.durable import at_once, change, put, sync
from bnnbench.suites.engine.store.record import (
    UNKNOWN,
    LaterSchema,
    Record,
    chosen,
    from_json,
    newest,
    to_json,
)

if TYPE_CHECKING:
    from bnnbench.suites.engine.run.packing import Predictions

RECORD, PREDICTIONS = "record.json", "predictions.npz"

TEMPORARY = "."
"""Names of folders and files that are being made begin with it."""


class Damaged(ValueError):
    """A file of a run is missing or not whole; names it and the cure."""

    def __init__(self, path: Path, reason: object) -> None:
        self.path, self.reason = path, str(reason)
        cure = f"remove {path.parent} to run it again"
        if isinstance(reason, LaterSchema):
            cure = "update this program, or choose another folder by --out"
        super().__init__(f"{path}: {reason}; {cure}")


class Unwritable(OSError):
    """There is no place for results; names it and the cure."""


@dataclass(frozen=True)
class Store:
    """The results of one suite: `folder/runs/<key>/{record.json,predictions.npz}`.

    A process may be killed or the power cut at any moment, and several processes may write
    the same run: whole runs are left. A run is on the disk when `write` returns. What is
    altered later is noticed when it is read, by checksums.
    """

    folder: Path
    clock: Clock = field(default_factory=Clock, compare=False, repr=False, kw_only=True)
    """Has seen the times of all records that passed through this object."""
    _known: dict[str, tuple[object, Record]] = field(
        default_factory=dict, compare=False, repr=False, kw_only=True
    )
    """Key → the file's state when it was read, and the record."""

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.folder / "runs"

    def write(self, record: Record, predictions: bytes | None) -> Record:
        """Keep a run and its packed predictions, replacing what an earlier attempt left.

        Returns the record with the time and the checksum that it was given. Raises
        `Unwritable`.
        """
        (kept,) = self.write_all([(record, predictions)])
        return kept

    def write_all(self, runs: Iterable[tuple[Record, bytes | None]]) -> list[Record]:
        """Keep several runs, which waits for the disk about as long as one; see `write`."""
        made: list[tuple[Path, Record]] = []
        try:
            with self._writing():
                self.runs.mkdir(parents=True, exist_ok=True)
                for record, predictions in runs:
                    whole = self._stamped(record, predictions)
                    place = Path(tempfile.mkdtemp(prefix=f".{record.key}.", dir=self.runs))
                    made.append((place, whole))
                    if predictions is not None:
                        (place / PREDICTIONS).write_bytes(predictions)
                    (place / RECORD).write_bytes(to_json(whole).encode())
                    place.chmod(0o755)
                folders = [place for place, _ in made]
                sync([*(file for place in folders for file in place.iterdir()), *folders])
                for place, whole in made:
                    put(place, self.runs / whole.key)
                sync([self.runs])
        finally:
            for place, _ in made:
                shutil.rmtree(place, ignore_errors=True)
        return [whole for _, whole in made]

    def _stamped(self, record: Record, predictions: bytes | None) -> Record:
        """Return the record with its place in time and the checksum of its predictions."""
        self.clock.see(str(record.provenance.get("finished")))
        return replace(
            record,
            provenance=dict(record.provenance) | {"chosen": self.clock.now()},
            predictions_sha256=None if predictions is None else sha256(predictions),
        )

    def rewrite(self, record: Record) -> None:
        """Replace a run's record and leave its predictions as they are; see `rewrite_all`."""
        self.rewrite_all([record])

    def rewrite_all(self, records: Iterable[Record]) -> None:
        """Replace the records of several runs and leave their predictions as they are.

        A run that another process has replaced in the meantime stays as that process left it.
        Raises `Unwritable`.
        """
        with self._writing():
            at_once(self._rewrite, list(records))

    def _rewrite(self, record: Record) -> None:
        def changed(there: bytes) -> bytes | None:
            same = from_json(there.decode()).predictions_sha256 == record.predictions_sha256
            return to_json(record).encode() if same else None

        with contextlib.suppress(FileNotFoundError):  # removed by another process
            change(self.runs / record.key, RECORD, changed)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unwritable(
                f"cannot keep results in {self.folder}: {error.strerror or error}. All runs that "
                f"are there are whole. Make room (`bnnbench store gc {self.folder}` "
                "removes what no run needs) or choose another folder by --out; the same command "
                "then goes on"
            ) from error

    def read(self, key: str) -> Record | None:
        """Return the record of a run, or None where there is none.

        Raises `Damaged`, naming the file and the cure.
        """
        path = self.runs / key / RECORD
        try:
            with path.open("rb") as file:
                stat = os.fstat(file.fileno())
                state = stat.st_ino, stat.st_mtime_ns, stat.st_size
                if (known := self._known.get(key)) and known[0] == state:
                    return known[1]
                record = from_json(file.read().decode())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, OSError) as error:
            raise Damaged(path, error) from error
        self._known[key] = state, record
        self.clock.see(chosen(record))
        return record

    def run_keys(self) -> Iterator[str]:
        """Return the names of all kept runs, in order."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.runs) as entries:
            names = [e.name for e in entries if not e.name.startswith(TEMPORARY) and e.is_dir()]
            yield from sorted(names)

    def records(self) -> Iterator[Record]:
        """Return all records, in the order of their keys."""
        for key in self.run_keys():
            if record := self.read(key):
                yield record

    def current(self) -> list[Record]:
        """Return one record for each dataset, method, fold and seed: the one chosen last.

        Earlier ones, of other settings under the same names, stay in the store unseen.
        """
        return newest(self.records())

    def predictions(self, key: str) -> "Predictions":
        """Return what `write` kept.

        Raises `Damaged` where it is missing or not whole, and `NotImported` where it is of a
        stranger's class and this process has not imported that.
        """
        from bnnbench.suites.engine.run.packing import NotImported, unpack  # torch comes with it

        path = self.runs / key / PREDICTIONS
        content = self.packed(key)
        try:
            return unpack(content)
        except NotImported:
            raise
        except Exception as error:  # whatever NumPy says of bytes that it did not write
            raise Damaged(path, f"not predictions: {error!r}") from error

    def packed(self, key: str) -> bytes:
        """Return the predictions as `write` was given them, checked; raises `Damaged`."""
        path = self.runs / key / PREDICTIONS
        while True:
            before = self.read(key)
            try:
                content = path.read_bytes()
            except OSError as error:
                content, reason = b"", str(error)
            else:
                if before is None or before.predictions_sha256 in (UNKNOWN, sha256(content)):
                    return content
                reason = "it does not have the checksum in its record: truncated or altered"
            if self.read(key) == before:  # else the run was replaced while it was read
                raise Damaged(path, reason)


def sha256(content: bytes) -> str:
    """Return the SHA-256 of the content, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
