"""Tasks on their way to other machines, which need the same code."""

import pickle
import platform
from dataclasses import dataclass

from bnnbench.engine.run.execute import sources_sha256
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import ExecutorUnavailable
from bnnbench.methods import own_files

CURE = (
    "let all machines have this one's files on a shared disk, or the same version installed; Ray "
    "copies a folder to its machines by --working-dir"
)


@dataclass(frozen=True)
class Parcel:
    """A pickled task and a digest of the sources that carry it out."""

    content: bytes
    code_sha256: str

    @classmethod
    def of(cls, task: Task) -> "Parcel":
        """Return the parcel; raises `ExecutorUnavailable` if no other program could open it."""
        content = pickle.dumps(task)
        if b"__main__" in content:
            raise ExecutorUnavailable(
                f"{task.name}: a class that is defined in the started file cannot be found by "
                "processes on other machines; put it into a module, and import it"
            )
        return cls(content, sources_sha256(task))

    def opened(self) -> Task:
        """Return the task; raises `ExecutorUnavailable` where this machine has not the same code.

        Otherwise a record would name code that did not compute its numbers.
        """
        own_files.search_folders()
        try:
            task = pickle.loads(self.content)
        except (ImportError, AttributeError) as error:
            raise ExecutorUnavailable(
                f"{platform.node()} cannot open a task: {error}; {CURE}"
            ) from error
        if sources_sha256(task) != self.code_sha256:
            raise ExecutorUnavailable(
                f"{task.name}: {platform.node()} has other code of bnnbench or of the method than "
                f"the machine that planned the runs; {CURE}"
            )
        return task
