"""Slurm jobs that outlive the command which submits them, as they write to the store themselves.

A ledger in the store says which job is to carry out which runs. The same command, repeated, thus
submits nothing twice, submits anew what a lost job left, and collects when no job remains.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.suites.engine.command.carrying_out import carry_out
from bnnbench.suites.engine.command.counts import counted
from bnnbench.suites.engine.command.planning.plan import Plan
from bnnbench.suites.engine.command.planning.share import Share
from bnnbench.suites.engine.executors import Settings
from bnnbench.suites.engine.executors.base import Silent
from bnnbench.suites.engine.executors.parcels import Parcel
from bnnbench.suites.engine.executors.processes import Processes
from bnnbench.suites.engine.executors.slurm import reason, submitted, submitter
from bnnbench.suites.engine.executors.slurm_job import on_this_machine
from bnnbench.suites.engine.executors.turns import ATTEMPTS
from bnnbench.suites.engine.run.execute import Task, lost
from bnnbench.suites.engine.store.claims import Claims
from bnnbench.suites.engine.store.inspection import CLAIMS
from bnnbench.suites.engine.store.store import Store

if TYPE_CHECKING:
    import submitit

FOLDER, LEDGER = ".submitted", "ledger.json"
"""Folder in a store with one for each command that submitted jobs, and the list of its jobs."""

LARGEST_ARRAY = 1000
"""Most jobs in an array that clusters allow unless they are set up otherwise."""


@dataclass(frozen=True)
class Driver:
    """A job that claims its runs, carries them out on its machine, and stores their outcomes."""

    store: Path
    settings: Settings
    parcels: Sequence[Parcel]
    before: Mapping[str, object]
    """Key of a run to be repeated → the time when its record was finished."""

    def __call__(self) -> None:
        """Carry out the runs that no other driver has carried out meanwhile."""
        tasks = tuple(parcel.opened() for parcel in self.parcels)
        store, settings = Store(self.store), on_this_machine(self.settings, tasks[0].device)
        with Claims(store.folder / CLAIMS) as claims:
            share = Share(Plan((), tasks, self.before), store, claims, Silent())
            carry_out(share, Processes(settings), Silent())

    def checkpoint(self) -> "submitit.helpers.DelayedSubmission":
        """Return the job to queue when this one is preempted or out of time."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


@dataclass(frozen=True)
class Entry:
    """A job in a ledger, and the runs that it is to carry out."""

    job: str
    address: str | None
    attempt: int
    before: Mapping[str, object]
    """Key of each run → the time when its record was finished, None without one."""


class Submissions:
    """The jobs in the ledgers of a store; use it under a lock, as others may submit."""

    def __init__(self, store: Store, say: Callable[[str], None]) -> None:
        self._store, self._say = store, say
        ledgers = sorted((store.folder / FOLDER).glob(f"*/{LEDGER}"))
        entries = [(ledger, Entry(**data)) for ledger in ledgers for data in _read(ledger)]
        # Every job is made before one is asked for its state: Slurm then answers for all at once.
        self._jobs = [(entry, _job(ledger.parent, entry)) for ledger, entry in entries]
        self._alive = [(entry, job) for entry, job in self._jobs if not _has_ended(entry, job)]
        by_attempt = sorted((entry for entry, _ in self._jobs), key=lambda entry: entry.attempt)
        self._latest = {key: entry for entry in by_attempt for key in entry.before}

    def submit(self, planned: Plan, settings: Settings, share: Share) -> int:
        """Submit the runs of a plan that no job has, and return the number of runs in jobs.

        Runs of jobs that ended without them are submitted once more, one by one; after that they
        have failed.
        """
        taken = {key for entry, _ in self._jobs for key in self._not_to_repeat(entry)}
        again: list[Task] = []
        by_key = {run.key: (task, run) for task in planned.tasks for run in task.runs}
        for entry, job in self._jobs:
            left = [key for key in self._without_result(entry) if key in by_key]
            if (entry, job) in self._alive or not left:
                continue
            tasks = [replace(task, runs=(run,)) for task, run in map(by_key.__getitem__, left)]
            taken.update(left)
            if entry.attempt < ATTEMPTS:
                self._say(f"{reason(job)}: {counted(len(left))} of it submitted once more")
                again += tasks
            else:
                share.keep([outcome for task in tasks for outcome in lost(task, reason(job))])
        fresh = list(_without(planned.tasks, taken))
        packs = [(1, pack) for pack in _packs(fresh, settings.pack)]
        packs += [(ATTEMPTS, [task]) for task in again]
        self._submit(packs, planned.before, settings)
        return self._report(sum(len(task.runs) for _, pack in packs for task in pack), len(packs))

    def collected(self) -> None:
        """Remove the ledgers and the files of jobs, all of which have ended."""
        shutil.rmtree(self._store.folder / FOLDER, ignore_errors=True)

    def _submit(
        self,
        packs: Sequence[tuple[int, list[Task]]],
        before: Mapping[str, object],
        settings: Settings,
    ) -> None:
        entries: list[Entry] = []
        executor = submitter(settings) if packs else None
        for start in range(0, len(packs), LARGEST_ARRAY):
            assert executor
            array = packs[start : start + LARGEST_ARRAY]
            jobs = [
                Driver(
                    self._store.folder.absolute(),
                    replace(settings, pulse=None),
                    [Parcel.of(task) for task in pack],
                    {run.key: before.get(run.key) for task in pack for run in task.runs},
                )
                for _, pack in array
            ]
            queued = submitted(executor, jobs)
            entries += [
                Entry(job.job_id, settings.address, attempt, driver.before)
                for job, driver, (attempt, _) in zip(queued, jobs, array, strict=True)
            ]
            write_whole(settings.folder / LEDGER, json.dumps([asdict(e) for e in entries]).encode())

    def _report(self, runs: int, jobs: int) -> int:
        """Say what is under way, and return its number of runs."""
        earlier = sum(len(self._without_result(entry)) for entry, _ in self._alive)
        if runs:
            self._say(f"Submitted {counted(runs)} in {counted(jobs, 'job')}; you may log out.")
        if self._alive:
            states = Counter(job.state for _, job in self._alive)
            words = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            jobs_before = counted(len(self._alive), "job")
            self._say(f"Submitted earlier: {counted(earlier)} to come of {jobs_before} ({words})")
        return runs + earlier

    def _not_to_repeat(self, entry: Entry) -> set[str]:
        """Return the keys of runs that a job is to carry out, or has carried out, perhaps in vain.

        Runs that failed are submitted again after their results have been collected.
        """
        left = self._without_result(entry)
        alive = any(entry is other for other, _ in self._alive)
        return set(entry.before) if alive else set(entry.before) - set(left)

    def _without_result(self, entry: Entry) -> list[str]:
        """Return the keys of a job's runs without a record since it was submitted.

        Runs that were submitted once more are those of the later job.
        """
        own = (key for key in entry.before if self._latest[key] is entry)
        return [key for key in own if self._finished(key) == entry.before[key]]

    def _finished(self, key: str) -> object:
        record = self._store.read(key)
        return record and record.provenance.get("finished")


def _read(ledger: Path) -> list[dict[str, Any]]:
    return json.loads(ledger.read_text())


def _job(folder: Path, entry: Entry) -> "submitit.Job[Any]":
    import submitit

    kind = submitit.LocalJob if entry.address else submitit.SlurmJob
    return kind(folder, entry.job)


def _has_ended(entry: Entry, job: Any) -> bool:
    """Return whether a job has ended; the stand-in for Slurm knows its own processes only."""
    if not entry.address:
        return job.done()
    import psutil

    return job.paths.result_pickle.exists() or not psutil.pid_exists(int(entry.job))


def _without(tasks: Sequence[Task], keys: set[str]) -> Iterator[Task]:
    for task in tasks:
        if runs := tuple(run for run in task.runs if run.key not in keys):
            yield replace(task, runs=runs)


def _packs(tasks: Sequence[Task], least: int) -> Iterator[list[Task]]:
    """Yield tasks together, with at least so many runs but for the last."""
    pack: list[Task] = []
    for task in tasks:
        pack.append(task)
        if sum(len(each.runs) for each in pack) >= least:
            yield pack
            pack = []
    if pack:
        yield pack
