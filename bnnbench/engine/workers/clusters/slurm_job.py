"""The content of a Slurm job: it runs tasks in processes on its machine."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.engine.run.devices import gpus_here
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.leases import SECONDS_BETWEEN_BEATS, Heartbeat
from bnnbench.engine.workers import Settings
from bnnbench.engine.workers.base import Result, Silent
from bnnbench.engine.workers.clusters.parcels import Parcel
from bnnbench.engine.workers.gpus import gpus_for
from bnnbench.engine.workers.processes import Processes

if TYPE_CHECKING:
    import submitit


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


def on_this_machine(
    settings: Settings, device: str, count: Callable[[], int] = gpus_here
) -> Settings:
    """Return a job's settings with one process per GPU; without GPUs, one per processor.

    `count` returns the number of GPUs of the job.
    """
    devices = gpus_for(device, count)
    return replace(settings, workers=len(devices) or settings.cpus, devices=devices)


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
