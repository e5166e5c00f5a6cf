"""One folder per run, named by the run's key; files are written atomically."""

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.datasets.reading.whole_files import open_regular, read_regular
from bnnbench.engine.records.clock import Clock
from bnnbench.engine.records.record import Record, newest, time_chosen
from bnnbench.engine.records.record_json import check_identity, from_json
from bnnbench.engine.records.round_trip import readable_json
from bnnbench.engine.store.durable import at_once, change, put, sync

if TYPE_CHECKING:
    from bnnbench.engine.run.packing import Predictions

RECORD, PREDICTIONS = "record.json", "predictions.npz"

TEMPORARY = "."
"""First character of names of files and folders that are being written."""

TEMPORARY_NAME = re.compile(r"\.(.+)\.[a-z0-9_]{8}", re.DOTALL)
"""Name of a file or folder that is being written; the group is its final name."""


class CorruptRecord(ValueError):
    """A file is missing or incomplete; the message names it and the remedy.

    Without a `remedy` it is a file of a run in a store.
    """

    def __init__(self, path: Path, reason: object, remedy: str = "") -> None:
        self.path, self.reason = path, str(reason)
        drop = shlex.join(["bnnbench", "store", "gc", str(path.parent.parent.parent)])
        usual = f"remove {path.parent} to run it again; `{drop}` drops all damaged runs"
        super().__init__(f"{path}: {reason}; {getattr(reason, 'remedy', remedy or usual)}")


class CorruptRecords(CorruptRecord):
    """Several records of a store that cannot be read; the message names all of them."""

    def __init__(self, damaged: Sequence[CorruptRecord]) -> None:
        self.damaged = damaged
        super().__init__(damaged[0].path, damaged[0].reason)
        self.args = ("\n".join(map(str, damaged)),)


class Unwritable(OSError):
    """Results cannot be written; the message names the reason and the remedy."""


@dataclass(frozen=True)
class Store:
    """The results of one suite: `folder/runs/<key>/{record.json,predictions.npz}`.

    A process may be killed or the power cut at any moment, and several processes may write
    the same run: only complete runs remain. A run is on the disk when `write` returns. Files
    that are altered later are detected by their checksums when they are read.
    """

    folder: Path
    clock: Clock = field(default_factory=Clock, compare=False, repr=False, kw_only=True)
    """A clock that has seen the times of all records passed through this object."""
    _cache: dict[str, tuple[object, Record]] = field(
        default_factory=dict, compare=False, repr=False, kw_only=True
    )
    """Key → the state of its file when it was read, and the record."""

    @property
    def runs(self) -> Path:
        """The folder of all runs."""
        return self.folder / "runs"

    def write(self, record: Record, predictions: bytes | None) -> Record:
        """Store a run and its packed predictions, replacing an earlier attempt.

        Returns the record with its time and checksum. Raises `Unwritable`, and `NotReadable` for a
        record that could not be read back.
        """
        (stored,) = self.write_all([(record, predictions)])
        return stored

    def write_all(self, runs: Iterable[tuple[Record, bytes | None]]) -> list[Record]:
        """Store several runs, waiting for the disk about as long as for one; see `write`."""
        temporary: list[tuple[Path, Record]] = []
        try:
            with self.writing():
                self.runs.mkdir(parents=True, exist_ok=True)
                for record, predictions in runs:
                    stamped = self._stamped(record, predictions)
                    folder = Path(tempfile.mkdtemp(prefix=f".{record.key}.", dir=self.runs))
                    temporary.append((folder, stamped))
                    if predictions is not None:
                        (folder / PREDICTIONS).write_bytes(predictions)
                    (folder / RECORD).write_bytes(readable_json(stamped).encode())
                    folder.chmod(0o755)
                folders = [folder for folder, _ in temporary]
                sync([*(file for folder in folders for file in folder.iterdir()), *folders])
                for folder, stamped in temporary:
                    put(folder, self.runs / stamped.key)
                sync([self.runs])
        finally:
            for folder, _ in temporary:
                shutil.rmtree(folder, ignore_errors=True)
        return [stamped for _, stamped in temporary]

    def _stamped(self, record: Record, predictions: bytes | None) -> Record:
        """Return the record with the time and the checksum of its predictions."""
        self.clock.see(str(record.circumstances.provenance.get("finished")))
        seal = None if predictions is None else sha256(predictions)
        provenance = {**record.circumstances.provenance, "chosen": self.clock.now()}
        return record.with_outcome(predictions_sha256=seal).with_circumstances(
            provenance=provenance
        )

    def rewrite(self, record: Record) -> None:
        """Replace a run's record, but not its predictions; see `rewrite_all`."""
        self.rewrite_all([record])

    def rewrite_all(self, records: Iterable[Record]) -> None:
        """Replace the records of several runs, but not their predictions.

        A run that another process has replaced meanwhile is left unchanged. Raises `Unwritable`.
        """
        with self.writing():
            at_once(self._rewrite, list(records))

    def _rewrite(self, record: Record) -> None:
        def changed(content: bytes) -> bytes | None:
            unchanged = (
                from_json(content.decode()).outcome.predictions_sha256
                == record.outcome.predictions_sha256
            )
            return readable_json(record).encode() if unchanged else None

        with contextlib.suppress(FileNotFoundError):  # removed by another process
            change(self.runs / record.key, RECORD, changed)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raise `Unwritable` in place of an OSError of the block, which writes to the store."""
        try:
            yield
        except OSError as error:
            raise Unwritable(
                f"cannot write results to {self.folder}: {error.strerror or error}. All stored "
                f"runs are complete. Make room (`bnnbench store gc {self.folder}` "
                "removes files that no run needs) or choose another folder with --out, then repeat "
                "the command"
            ) from error

    def read(self, key: str) -> Record | None:
        """Return the record of a run; None if absent.

        Raises `CorruptRecord` with the file and the remedy.
        """
        path = self.runs / key / RECORD
        try:
            with open_regular(path) as file:
                stat = os.fstat(file.fileno())
                state = stat.st_ino, stat.st_mtime_ns, stat.st_size
                if (cached := self._cache.get(key)) and cached[0] == state:
                    return cached[1]
                record = from_json(file.read().decode())
            temporary = TEMPORARY_NAME.fullmatch(key)
            check_identity(record, temporary[1] if temporary else key)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, OSError) as error:
            raise CorruptRecord(path, error) from error
        self._cache[key] = state, record
        self.clock.see(time_chosen(record))
        return record

    def run_keys(self) -> Iterator[str]:
        """Return the keys of all stored runs, in order."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.runs) as entries:
            names = [e.name for e in entries if not e.name.startswith(TEMPORARY) and e.is_dir()]
            yield from sorted(names)

    def readable(self) -> tuple[list[Record], list[CorruptRecord]]:
        """Return all records that can be read, in the order of their keys, and the errors of the
        others.
        """
        records: list[Record] = []
        damaged: list[CorruptRecord] = []
        for key in self.run_keys():
            try:
                records += filter(None, [self.read(key)])
            except CorruptRecord as error:
                damaged.append(error)
        return records, damaged

    def records(self) -> Iterator[Record]:
        """Return all records, in the order of their keys.

        Raises `CorruptRecord`, which names all records that cannot be read.
        """
        records, damaged = self.readable()
        if damaged:
            raise CorruptRecords(damaged) if len(damaged) > 1 else damaged[0]
        return iter(records)

    def current(self) -> list[Record]:
        """Return one record for each dataset, method, fold and seed: the latest chosen.

        Earlier ones, of other settings under the same names, stay in the store.
        """
        return newest(self.records())

    def predictions(self, key: str) -> "Predictions":
        """Return the predictions of a run.

        Raises `CorruptRecord` if they are missing or incomplete, and `NotImported` if their class
        is third-party and this process has not imported its module.
        """
        from bnnbench.engine.run.packing import NotImported, unpack  # this imports torch

        path = self.runs / key / PREDICTIONS
        content = self.packed(key)
        try:
            return unpack(content)
        except NotImported:
            raise
        except Exception as error:  # NumPy raises all kinds of errors for corrupt bytes
            raise CorruptRecord(path, f"not predictions: {error!r}") from error

    def packed(self, key: str) -> bytes:
        """Return the packed predictions of a run, checked. Raises `CorruptRecord`."""
        path = self.runs / key / PREDICTIONS
        while True:
            before = self.read(key)
            try:
                content = read_regular(path)
            except OSError as error:
                content, reason = b"", str(error)
            else:
                if before is None or before.outcome.predictions_sha256 == sha256(content):
                    return content
                reason = "it does not match the checksum in its record: truncated or altered"
            if self.read(key) == before:  # otherwise the run was replaced while it was read
                raise CorruptRecord(path, reason)


def sha256(content: bytes) -> str:
    """Return the SHA-256 of the content as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
