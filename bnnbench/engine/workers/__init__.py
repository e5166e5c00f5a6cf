"""Executors of tasks, one file each, all with the same interface."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bnnbench.engine.workers.clusters import slurm_options

EXECUTORS: Mapping[str, str] = {
    "serial": "bnnbench.engine.workers.serial:Serial",
    "processes": "bnnbench.engine.workers.processes:Processes",
    "ray": "bnnbench.engine.workers.clusters.ray:Ray",
    "slurm": "bnnbench.engine.workers.clusters.slurm:Slurm",
}

NEEDS: Mapping[str, str] = {"ray": "ray", "slurm": "submitit"}
"""The package that an executor needs; the extra of this project has the executor's name."""


@dataclass(frozen=True)
class Limits:
    """Time and memory limits of a run."""

    seconds: float | None = None
    """Time limit of one run; runs fitted together share the sum of their limits."""
    bytes: int | None = None
    """Limit on the worker's resident memory, including libraries."""

    def __bool__(self) -> bool:
        return self.seconds is not None or self.bytes is not None


@dataclass(frozen=True)
class Settings:
    """The number of workers, their resources and their location."""

    workers: int = 1
    limits: Limits = field(default=Limits())
    isolate: bool = True
    """If true, each task of a third-party method has a separate process."""
    devices: tuple[int, ...] = ()
    """Numbers of this machine's GPUs, assigned round-robin, one to each worker process."""
    gpus: float = 0.0
    """GPUs per worker on a cluster; if this is a fraction, Ray shares a GPU among workers."""
    address: str | None = None
    """Address of a Ray cluster; "local" runs Slurm's jobs on this machine."""
    wait_minutes: float = 15.0
    """Maximum time without any worker of a Ray cluster, which may have to start machines."""
    working_dir: Path | None = None
    """Folder that Ray copies to its machines; workers start there and import from it."""
    partition: str | None = None
    """Slurm partition."""
    options: slurm_options.Options = field(default_factory=dict)
    """Options passed unchanged to Slurm's sbatch."""
    pack: int = 1
    """Minimum number of runs per Slurm job, while there are any."""
    minutes: int = 240
    """Time limit of each Slurm job; the job is then requeued."""
    folder: Path = field(default=Path(".jobs"))
    """Folder for files of Slurm's jobs, on a disk shared with the driver; removed at the end."""
    heartbeat: Path | None = None
    """The driver's heartbeat file on that disk. Jobs end when the driver stops renewing it."""

    @property
    def cpus(self) -> int:
        """Processors per Slurm job."""
        return slurm_options.cpus(self.options)


def lacks(name: str) -> str | None:
    """Return an instruction to install the executor's package; None if it is installed."""
    package = NEEDS.get(name)
    if package is None or importlib.util.find_spec(package):
        return None
    return f"needs the package {package}: pip install 'bnnbench[{name}]'"


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
