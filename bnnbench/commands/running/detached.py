"""Slurm jobs that outlive the command that submits them and write to the store themselves.

The same command, repeated, submits nothing twice, resubmits the remaining runs of a lost job, and
collects results once no job is left.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.commands.planning.plan import Plan
from bnnbench.commands.planning.share import Share
from bnnbench.commands.running.ledgers import FOLDER, Entry, Ledgers, write
from bnnbench.commands.running.running import carry_out
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.leases import LEASES, Leases
from bnnbench.engine.store.store import Store
from bnnbench.engine.workers import Settings, on_this_machine
from bnnbench.engine.workers.base import ATTEMPTS, Silent
from bnnbench.engine.workers.clusters import Parcel
from bnnbench.engine.workers.clusters.slurm import reason, submitted, submitter
from bnnbench.engine.workers.local import Processes
from bnnbench.wording import counted

if TYPE_CHECKING:
    import submitit

LARGEST_ARRAY = 1000
"""Maximum number of jobs in an array under the default configuration of clusters."""

Pack = tuple[int, list[Task]]
"""The number of the attempt, and the tasks of one job."""


@dataclass(frozen=True)
class Driver:
    """A job that leases its runs, runs them on its machine, and stores their outcomes."""

    store: Path
    settings: Settings
    parcels: Sequence[Parcel]
    before: Mapping[str, object]
    """Key of each run → the time when its record was finished; None if absent."""

    def __call__(self) -> None:
        """Do the runs that no other driver has done meanwhile."""
        tasks = tuple(parcel.opened() for parcel in self.parcels)
        store, settings = Store(self.store), on_this_machine(self.settings, tasks[0].device)
        with Leases(store.folder / LEASES) as leases:
            share = Share(Plan((), tasks, self.before), store, leases, Silent())
            carry_out(share, Processes(settings), Silent())

    def checkpoint(self) -> "submitit.helpers.DelayedSubmission":
        """Return the job to requeue if this one is preempted or out of time."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def submit(
    planned: Plan, store: Store, leases: Leases, settings: Settings, say: Callable[[str], None]
) -> bool:
    """Submit the runs of a plan that no job has, and return whether jobs are queued or running.

    Runs left over by ended jobs are submitted once more, one by one; after that they count as
    failed. If no job is left, the ledgers are removed.
    """
    settings = replace(settings, folder=(store.folder / FOLDER / leases.heartbeat.stem).absolute())
    with leases.held("submission"):
        ledgers = Ledgers(store)
        share = Share(planned, store, leases, Silent())
        fresh = _without(planned.tasks, ledgers.keys)
        packs = [(1, pack) for pack in _packs(fresh, settings.pack)]
        packs += _of_lost_jobs(planned, ledgers, share, say)
        _submit(packs, planned, store, settings)
        if packs:
            runs = sum(len(task.runs) for _, pack in packs for task in pack)
            say(f"Submitted {counted(runs)} in {counted(len(packs), 'job')}; you may log out.")
        if states := ledgers.under_way():
            say(f"Submitted earlier: {counted(ledgers.to_come)} to come ({states})")
        elif not packs:
            ledgers.remove()
            return False
    say("When all jobs have ended, the same command writes tables and report.")
    return True


def _of_lost_jobs(
    planned: Plan, ledgers: Ledgers, share: Share, say: Callable[[str], None]
) -> Iterator[Pack]:
    """Yield the runs to resubmit; runs whose last attempt was lost are stored as failed."""
    todo = {run.key: (task, run) for task in planned.tasks for run in task.runs}
    for entry, job in ledgers.ended:
        left = [todo[key] for key in ledgers.left_by(entry) if key in todo]
        tasks = [replace(task, runs=(run,)) for task, run in left]
        if entry.attempt >= ATTEMPTS:
            share.keep([outcome for task in tasks for outcome in lost(task, reason(job))])
        elif tasks:
            say(f"{reason(job)}: {counted(len(tasks))} of it resubmitted")
            yield from ((entry.attempt + 1, [task]) for task in tasks)


def _submit(packs: Sequence[Pack], planned: Plan, store: Store, settings: Settings) -> None:
    """Submit a job for each pack, and enter it into this command's ledger."""
    if not packs:
        return
    executor = submitter(settings)
    entries: list[Entry] = []
    for start in range(0, len(packs), LARGEST_ARRAY):
        array = packs[start : start + LARGEST_ARRAY]
        jobs = [
            Driver(
                store.folder.absolute(),
                settings,
                [Parcel.of(task) for task in pack],
                {run.key: planned.before.get(run.key) for task in pack for run in task.runs},
            )
            for _, pack in array
        ]
        for job, driver, (attempt, _) in zip(submitted(executor, jobs), jobs, array, strict=True):
            entries.append(Entry(job.job_id, settings.address, attempt, driver.before))
        write(settings.folder, entries)


def _without(tasks: Sequence[Task], keys: set[str]) -> Iterator[Task]:
    for task in tasks:
        if runs := tuple(run for run in task.runs if run.key not in keys):
            yield replace(task, runs=runs)


def _packs(tasks: Iterator[Task], least: int) -> Iterator[list[Task]]:
    """Yield packs of tasks with at least this many runs each, except the last."""
    pack: list[Task] = []
    for task in tasks:
        pack.append(task)
        if sum(len(each.runs) for each in pack) >= least:
            yield pack
            pack = []
    if pack:
        yield pack
