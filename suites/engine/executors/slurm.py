"""Jobs of a Slurm cluster, in arrays, by submitit; results come back over a shared disk."""

import math
import shutil
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.suites.engine.executors import Limits, Settings
from bnnbench.suites.engine.executors.base import (
    PAUSE_SECONDS,
    ExecutorUnavailable,
    Lost,
    Result,
    Watcher,
)
from bnnbench.suites.engine.executors.turns import Ending, Turn, Turns
from bnnbench.suites.engine.executors.worker import TICK_SECONDS, Worker
from bnnbench.suites.engine.run.execute import Task
from bnnbench.suites.engine.store.claims import SECONDS_BETWEEN_BEATS, Pulse

if TYPE_CHECKING:
    import submitit

REQUEUES = 20
"""Largest number of times that a job which reaches its time limit continues from its checkpoint."""

SECONDS_TO_END = 10
"""Time to wait for jobs on this machine to end when they were cancelled."""

BYTES_TO_START = 2**30
"""Part of a job's memory limit beyond that of its worker."""


@dataclass(frozen=True)
class Job:
    """Carries out a task in a separate process, on a machine of the cluster."""

    limits: Limits
    pulse: Path | None
    isolate: bool = True

    def __call__(self, task: Task) -> Ending:
        """Return how the task ended. The job ends when its driver does."""
        worker = Worker(self.limits, self.isolate)
        try:
            *_, ending = worker.messages(task, _watching(self.pulse))
        finally:
            worker.terminate()
            worker.dismiss()
        return ending

    def checkpoint(self, task: Task) -> "submitit.helpers.DelayedSubmission":
        """Return the job to queue when this one is preempted or out of time."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, task)


@dataclass(frozen=True)
class Slurm:
    """Carries out tasks as jobs, `settings.workers` of them at once."""

    settings: Settings

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish."""
        turns = Turns(tasks, watcher)
        submit = self._submitter()
        job_of = Job(self.settings.limits, self.settings.pulse, self.settings.isolate)
        running: dict[Any, Turn] = {}
        try:
            while True:
                array: list[Turn] = []
                while len(running) + len(array) < self.settings.workers and (turn := turns.next()):
                    check_that_it_travels(turn.task)
                    array.append(turn)
                if array:
                    jobs = submit.map_array(job_of, [turn.task for turn in array])
                    running |= zip(jobs, array, strict=True)
                    for turn in array:
                        watcher.started(turn.task)
                if not running and turns.over:
                    return
                time.sleep(PAUSE_SECONDS)
                for job in [job for job in running if job.done()]:
                    yield from turns.settle(running.pop(job), _ending(job))
        finally:
            self._cancel(running)

    def _submitter(self) -> "submitit.AutoExecutor":
        """Return the submitter of jobs; raises `ExecutorUnavailable` without Slurm."""
        import submitit

        settings, limits = self.settings, self.settings.limits
        cluster = settings.address or "slurm"
        try:
            submitter = submitit.AutoExecutor(
                settings.folder, cluster=cluster, slurm_max_num_timeout=REQUEUES
            )
        except (RuntimeError, ValueError) as error:
            raise ExecutorUnavailable(
                f"Slurm is unavailable: {error} Start on a machine with srun and sbatch, or "
                "use --address local to run the jobs here"
            ) from error
        optional: dict[str, Any] = {"slurm_partition": settings.partition}
        if limits.bytes:
            optional["mem_gb"] = (limits.bytes + BYTES_TO_START) / 2**30
        submitter.update_parameters(
            name="bnnbench",
            timeout_min=settings.minutes,
            cpus_per_task=1,
            gpus_per_node=math.ceil(settings.gpus),
            slurm_array_parallelism=settings.workers,
            **{name: value for name, value in optional.items() if value is not None},
        )
        return submitter

    def _cancel(self, jobs: Iterable[Any]) -> None:
        """End the jobs and remove their files."""
        jobs = list(jobs)
        for job in jobs:
            with suppress(Exception):  # a job that has ended cannot be cancelled
                job.cancel(check=False)
        deadline = time.monotonic() + SECONDS_TO_END
        while self.settings.address and time.monotonic() < deadline:
            if all(job.done() for job in jobs):
                break
            time.sleep(TICK_SECONDS)
        shutil.rmtree(self.settings.folder, ignore_errors=True)


def _watching(path: Path | None) -> Callable[[], None]:
    """Return a function that raises an error once the driver stopped renewing its file."""
    pulse, latest = path and Pulse(path), time.monotonic()

    def check_driver() -> None:
        nonlocal latest
        if pulse and time.monotonic() - latest > SECONDS_BETWEEN_BEATS:
            latest = time.monotonic()
            if not pulse.beats():
                raise RuntimeError("the driver has ended")

    return check_driver


def _ending(job: Any) -> Ending:
    """Return the ending of a job's task; a job without a result has died."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        return job.result()
    except (FailedJobError, UncompletedJobError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return "died", Lost(f"job {job.job_id} ended as {job.state} ({lines[-1].strip()})")
