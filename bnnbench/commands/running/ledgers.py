"""Ledgers in a store: the runs of each Slurm job, for use after its command has ended."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.store.store import CorruptRecord, Store

if TYPE_CHECKING:
    import submitit

FOLDER, LEDGER = ".submitted", "ledger.json"
"""Folder in a store with a folder per command that submitted jobs, and the file of its jobs."""


@dataclass(frozen=True)
class Entry:
    """A job in a ledger, and its runs."""

    job: str
    address: str | None
    attempt: int
    before: Mapping[str, object]
    """Key of each run → the time when its record was finished; None if absent."""


def write(folder: Path, entries: Sequence[Entry]) -> None:
    """Write the ledger of a command's jobs next to their files."""
    write_whole(folder / LEDGER, json.dumps([asdict(entry) for entry in entries]).encode())


def read(path: Path) -> list[Entry]:
    """Return the entries of a ledger. Raises `CorruptRecord` if it is truncated or altered."""
    try:
        return [Entry(**data) for data in json.loads(path.read_text())]
    except (ValueError, TypeError) as error:
        cure = "check with squeue that its jobs have ended, then remove its folder"
        raise CorruptRecord(path, f"truncated or altered: {error}", cure) from error


class Ledgers:
    """All jobs in the ledgers of a store, and their states."""

    def __init__(self, store: Store) -> None:
        self._store = store
        jobs: list[tuple[Entry, submitit.Job[Any]]] = []
        for ledger in sorted((store.folder / FOLDER).glob(f"*/{LEDGER}")):
            jobs += [(entry, _job(ledger.parent, entry)) for entry in read(ledger)]
        # All jobs are created before the first query, so that Slurm answers for all at once.
        self.ended: list[tuple[Entry, submitit.Job[Any]]] = []
        self._alive: list[tuple[Entry, submitit.Job[Any]]] = []
        for entry, job in jobs:
            (self.ended if _has_ended(entry, job) else self._alive).append((entry, job))
        by_attempt = sorted((entry for entry, _ in jobs), key=lambda entry: entry.attempt)
        self._latest = {key: entry for entry in by_attempt for key in entry.before}

    @property
    def keys(self) -> set[str]:
        """The runs of all jobs, including failed ones, which stay until they are collected."""
        return set(self._latest)

    @property
    def to_come(self) -> int:
        """The number of runs still to be done by queued or running jobs."""
        return sum(len(self.left_by(entry)) for entry, _ in self._alive)

    def left_by(self, entry: Entry) -> list[str]:
        """Return the keys of a job's runs without a record since its submission.

        Resubmitted runs belong to the later job.
        """
        keys = (key for key in entry.before if self._latest[key] is entry)
        return [key for key in keys if self._finished(key) == entry.before[key]]

    def under_way(self) -> str:
        """Return the number of jobs in each of Slurm's states, as text; "" if all have ended."""
        states = Counter(job.state for _, job in self._alive)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        unknown = f"; if they are gone, remove {self._store.folder / FOLDER}"
        return counts + (unknown if "UNKNOWN" in states else "")

    def remove(self) -> None:
        """Remove the ledgers and the files of their jobs, all of which have ended."""
        shutil.rmtree(self._store.folder / FOLDER, ignore_errors=True)

    def _finished(self, key: str) -> object:
        record = self._store.read(key)
        return record and record.circumstances.provenance.get("finished")


def _job(folder: Path, entry: Entry) -> "submitit.Job[Any]":
    import submitit

    kind = submitit.LocalJob if entry.address else submitit.SlurmJob
    return kind(folder, entry.job)


def _has_ended(entry: Entry, job: Any) -> bool:
    """Return whether a job has ended; Slurm's local substitute knows only its own processes."""
    if not entry.address:
        return job.done()
    import psutil

    return job.paths.result_pickle.exists() or not psutil.pid_exists(int(entry.job))
