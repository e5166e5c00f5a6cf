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
    """Time and memory that one run may take."""

    seconds: float | None = None
    """Time limit of one run; runs that are fitted together have the sum of theirs."""
    bytes: int | None = None
    """Limit on the worker's resident memory, libraries included."""

    def __bool__(self) -> bool:
        return self.seconds is not None or self.bytes is not None


@dataclass(frozen=True)
class Settings:
    """The number of workers, their resources and their place."""

    workers: int = 1
    limits: Limits = field(default=Limits())
    isolate: bool = True
    """Foreign methods have a process of their own for each task."""
    devices: tuple[int, ...] = ()
    """Numbers of this machine's GPUs, which take turns as the one that a worker process sees."""
    gpus: float = 0.0
    """GPUs of each worker on a cluster; where this is a fraction, Ray shares one among several."""
    address: str | None = None
    """Address of a Ray cluster; "local" has Slurm's jobs carried out on this machine."""
    wait_minutes: float = 15.0
    """Longest time without any worker of a Ray cluster, which may have to start machines."""
    working_dir: Path | None = None
    """Folder that Ray copies to its machines, where workers start and import from it."""
    partition: str | None = None
    """Slurm partition."""
    options: slurm_options.Options = field(default_factory=dict)
    """Options of Slurm's sbatch, which it gets as they are."""
    pack: int = 1
    """Least number of runs of a Slurm job, while there are any."""
    minutes: int = 240
    """Time limit of each Slurm job; it is then put into the queue again."""
    folder: Path = field(default=Path(".jobs"))
    """Folder of files of Slurm's jobs, on a disk shared with the driver; removed at the end."""
    pulse: Path | None = None
    """File on that disk that the driver renews while it lives. Jobs end when it does."""

    @property
    def cpus(self) -> int:
        """Processors of a Slurm job."""
        return slurm_options.cpus(self.options)


def lacks(name: str) -> str | None:
    """Return an instruction to install the executor's package, or None if it is installed."""
    package = NEEDS.get(name)
    if package is None or importlib.util.find_spec(package):
        return None
    return f"needs the package {package}: pip install 'bnnbench[{name}]'"


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
