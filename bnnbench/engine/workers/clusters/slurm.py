"""Job arrays on a Slurm cluster, with submitit; results come back over a shared disk."""

import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.engine.run.task import Task
from bnnbench.engine.store.leases import SECONDS_BETWEEN_BEATS, Heartbeat
from bnnbench.engine.workers import Settings, on_this_machine
from bnnbench.engine.workers.base import (
    PAUSE_SECONDS,
    Attempt,
    ExecutorUnavailable,
    Lost,
    Result,
    RetryQueue,
    Silent,
    Watcher,
)
from bnnbench.engine.workers.clusters import Parcel
from bnnbench.engine.workers.local import Processes
from bnnbench.engine.workers.worker import TICK_SECONDS

if TYPE_CHECKING:
    import submitit

REQUEUES = 20
"""Maximum number of times that a job at its time limit continues from its checkpoint."""

SECONDS_TO_END = 10
"""Time to wait for cancelled jobs on this machine to end."""

BYTES_TO_START = 2**30
"""A job's memory limit beyond the limits of its workers."""

_END_OF_TRACE = "\n----------------------\nYou can check full logs"


@dataclass(frozen=True)
class Slurm:
    """Runs tasks in jobs of at least `settings.pack` runs, `settings.workers` at once."""

    settings: Settings

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which their jobs finish."""
        queue = RetryQueue(tasks, watcher)
        executor = submitter(self.settings)
        running: dict[Any, list[Attempt]] = {}
        try:
            while True:
                array: list[list[Attempt]] = []
                while len(running) + len(array) < self.settings.workers and (
                    pack := self._pack(queue)
                ):
                    array.append(pack)
                if array:
                    parcels = ([Parcel.of(attempt.task) for attempt in pack] for pack in array)
                    jobs = [Job(self.settings, of_job) for of_job in parcels]
                    running |= zip(submitted(executor, jobs), array, strict=True)
                    for attempt in (attempt for pack in array for attempt in pack):
                        watcher.started(attempt.task)
                if not running and queue.over:
                    return
                time.sleep(PAUSE_SECONDS)
                for job in [job for job in running if job.done()]:
                    yield from _results(job, running.pop(job), queue, watcher)
        finally:
            self._cancel(running)

    def _pack(self, queue: RetryQueue) -> list[Attempt]:
        """Return the attempts for a job; a retry after a lost job gets a separate job."""
        pack: list[Attempt] = []
        while sum(len(attempt.task.runs) for attempt in pack) < self.settings.pack:
            if attempt := queue.next():
                pack.append(attempt)
            if not attempt or attempt.number > 1:
                break
        return pack

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


def submitter(settings: Settings) -> "submitit.AutoExecutor":
    """Return the submitter of jobs. Raises `ExecutorUnavailable` without Slurm."""
    import submitit

    limits, options = settings.limits, dict(settings.options)
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
        optional["mem_gb"] = (settings.cpus * limits.bytes + BYTES_TO_START) / 2**30
    if settings.gpus:
        optional["gpus_per_node"] = math.ceil(settings.gpus)
    if options:
        named = {name.replace("-", "_"): value for name, value in options.items()}
        optional["slurm_additional_parameters"] = named  # these override all others
    submitter.update_parameters(
        name="bnnbench",
        timeout_min=settings.minutes,
        cpus_per_task=settings.cpus,
        slurm_array_parallelism=settings.workers,
        **{name: value for name, value in optional.items() if value is not None},
    )
    return submitter


def submitted(
    executor: "submitit.AutoExecutor", jobs: Sequence[Callable[[], Any]]
) -> "list[submitit.Job[Any]]":
    """Queue the jobs. Raises `ExecutorUnavailable` if Slurm refuses them."""
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    try:
        return executor.submit_array(jobs)
    except (FailedJobError, FailedSubmissionError) as error:
        raise ExecutorUnavailable(f"Slurm refuses the jobs: {str(error).strip()}") from error


def reason(job: Any) -> str:
    """Return a sentence on how a job without a result ended."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    ending = f"job {job.job_id} ended as {job.state}"
    if job.paths.result_pickle.exists():
        try:
            job.result()
        except (FailedJobError, UncompletedJobError) as error:
            trace = str(error).partition(_END_OF_TRACE)[0].strip().splitlines()
            return f"{ending} ({trace[-1]})" if trace else ending
    return ending


def _results(
    job: Any, pack: list[Attempt], queue: RetryQueue, watcher: Watcher
) -> Generator[Result, None, None]:
    """Yield the results of a job; without any, it has died and its tasks are retried."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        results = job.result()
    except (FailedJobError, UncompletedJobError):
        for attempt in pack:
            yield from queue.complete_or_requeue(attempt, ("died", Lost(reason(job))))
        return
    if isinstance(results, Exception):
        raise results
    by_keys = {_keys(task): (task, result) for task, result in results}
    for attempt in pack:
        if finished := by_keys.pop(_keys(attempt.task), None):
            yield attempt.task, finished[1]
        else:
            watcher.lost(attempt.task, "its process died; its runs were tried one by one")
    yield from by_keys.values()


def _keys(task: Task) -> tuple[str, ...]:
    return tuple(run.key for run in task.runs)


@dataclass
class Job:
    """Runs tasks and returns their results; an error of the engine is returned too.

    A job that is preempted or out of time continues after the results it already has.
    """

    settings: Settings
    parcels: Sequence[Parcel]
    results: list[Result] = field(default_factory=list)

    def __call__(self) -> list[Result] | Exception:
        """Run the tasks; ends with the driver."""
        from submitit.core.utils import UncompletedJobError

        try:
            tasks = [parcel.opened() for parcel in self.parcels]
            settings = on_this_machine(self.settings, tasks[0].device)
            with (
                _while_driver_beats(self.settings.heartbeat),
                closing(Processes(settings).map(self._left(tasks), Silent())) as results,
            ):
                for result in results:
                    self.results.append(result)
        except UncompletedJobError:  # Slurm's time limit, in the middle of a task
            raise
        except Exception as error:
            return error
        return self.results

    def checkpoint(self) -> "submitit.helpers.DelayedSubmission":
        """Return the job to requeue if this one is preempted or out of time."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _left(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """Yield the tasks without the runs that have a result."""
        done = {run.key for task, _ in self.results for run in task.runs}
        for task in tasks:
            if runs := tuple(run for run in task.runs if run.key not in done):
                yield replace(task, runs=runs)


@contextmanager
def _while_driver_beats(path: Path | None) -> Iterator[None]:
    """Interrupt this process once the driver stops renewing its file."""
    ended = threading.Event()

    def watch(heartbeat: Heartbeat) -> None:
        while not ended.wait(SECONDS_BETWEEN_BEATS):
            if not heartbeat.beats():
                os.kill(os.getpid(), signal.SIGINT)
                return

    if path:
        threading.Thread(target=watch, args=(Heartbeat(path),), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
