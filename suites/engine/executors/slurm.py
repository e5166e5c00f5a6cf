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
    Result,
    Watcher,
)
from bnnbench.suites.engine.executors.turns import Ending, Turn, Turns, check_that_it_travels
from bnnbench.suites.engine.executors.worker import TICK_SECONDS, Worker
from bnnbench.suites.engine.run.execute import Task
from bnnbench.suites.engine.store.claims import SECONDS_BETWEEN_BEATS, Pulse

if TYPE_CHECKING:
    import submitit

REQUEUES = 20
"""A job that reaches its time limit goes on from its checkpoint, this often at most."""

SECONDS_TO_END = 10
"""How long jobs on this machine are waited for when they were cancelled."""

BYTES_TO_START = 2**30
"""What a job's memory limit allows beside that of its worker."""


@dataclass(frozen=True)
class Job:
    """Carries out a task in a process of its own, on a machine of the cluster."""

    limits: Limits
    pulse: Path | None

    def __call__(self, task: Task) -> Ending:
        """Return how the task ended. The job ends when its driver does."""
        worker = Worker(self.limits)
        try:
            *_, ending = worker.messages(task, _watching(self.pulse))
        finally:
            worker.terminate()
            worker.dismiss()
        return ending

    def checkpoint(self, task: Task) -> "submitit.helpers.DelayedSubmission":
        """Return what is put into the queue when the job is preempted or out of time."""
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
        job_of = Job(self.settings.limits, self.settings.pulse)
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
                f"no Slurm here: {error} Start where srun and sbatch are, or try it by "
                "--address local"
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
        """End the jobs and remove what they have written."""
        jobs = list(jobs)
        for job in jobs:
            with suppress(Exception):  # what has ended cannot be cancelled
                job.cancel(check=False)
        give_up = time.monotonic() + SECONDS_TO_END
        while self.settings.address and time.monotonic() < give_up:
            if all(job.done() for job in jobs):
                break
            time.sleep(TICK_SECONDS)
        shutil.rmtree(self.settings.folder, ignore_errors=True)


def _watching(path: Path | None) -> Callable[[], None]:
    """Return a function that ends this process when the driver stopped renewing its file."""
    pulse, latest = path and Pulse(path), time.monotonic()

    def look() -> None:
        nonlocal latest
        if pulse and time.monotonic() - latest > SECONDS_BETWEEN_BEATS:
            latest = time.monotonic()
            if not pulse.beats():
                raise RuntimeError("the driver has ended")

    return look


def _ending(job: Any) -> Ending:
    """Return how a job's task ended; a job without a result has died."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        return job.result()
    except (FailedJobError, UncompletedJobError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return "died", f"job {job.job_id} ended as {job.state} ({lines[-1].strip()})"
