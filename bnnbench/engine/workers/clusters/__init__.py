"""Executors on clusters, Ray and Slurm, and the parcels sent to their machines."""

import pickle
import platform
from dataclasses import dataclass

from bnnbench.engine.run.execute import sources_sha256
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import ExecutorUnavailable
from bnnbench.engine.workers.travelling import pickled_task
from bnnbench.methods import own_files

REMEDY = (
    "give all machines this one's files on a shared disk, or install the same version; with "
    "--working-dir, Ray copies a folder to its machines"
)


@dataclass(frozen=True)
class Parcel:
    """A pickled task and a digest of the sources that run it."""

    content: bytes
    code_sha256: str

    @classmethod
    def of(cls, task: Task) -> "Parcel":
        """Return the parcel. Raises `ExecutorUnavailable` if no other program could open it."""
        return cls(pickled_task(task), sources_sha256(task))

    def opened(self) -> Task:
        """Return the task. Raises `ExecutorUnavailable` if this machine has different code.

        Otherwise a record would name code that did not compute its numbers.
        """
        own_files.search_folders()
        try:
            task = pickle.loads(self.content)
        except (ImportError, AttributeError) as error:
            raise ExecutorUnavailable(
                f"{platform.node()} cannot open a task: {error}; {REMEDY}"
            ) from error
        if sources_sha256(task) != self.code_sha256:
            raise ExecutorUnavailable(
                f"{task.name}: {platform.node()} has other code of bnnbench or of the method than "
                f"the machine that planned the runs; {REMEDY}"
            )
        return task
