"""Where tasks are carried out: one file per place, all with the same face."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

EXECUTORS: Mapping[str, str] = {
    "serial": "bnnbench.suites.engine.executors.serial:Serial",
    "processes": "bnnbench.suites.engine.executors.processes:Processes",
    "ray": "bnnbench.suites.engine.executors.ray:Ray",
    "slurm": "bnnbench.suites.engine.executors.slurm:Slurm",
}

NEEDS: Mapping[str, str] = {"ray": "ray", "slurm": "submitit"}
"""The package that an executor needs; the extra of this project has the executor's name."""


@dataclass(frozen=True)
class Limits:
    """What one run may take."""

    seconds: float | None = None
    """Runs that are fitted together may take as many times this."""
    bytes: int | None = None
    """Resident memory of the worker, libraries included."""

    def __bool__(self) -> bool:
        return self.seconds is not None or self.bytes is not None


@dataclass(frozen=True)
class Settings:
    """How many workers there are, what one gets, and where."""

    workers: int = 1
    limits: Limits = field(default=Limits())
    gpus: float = 0.0
    """Of each worker; Ray shares one among several where this is a fraction."""
    address: str | None = None
    """Of a Ray cluster; "local" has Slurm's jobs carried out on this machine."""
    partition: str | None = None
    """Of Slurm."""
    minutes: int = 240
    """How long one of Slurm's jobs may take; it is then put into the queue again."""
    folder: Path = field(default=Path(".jobs"))
    """Of files of Slurm's jobs, on a disk that they share with the driver; removed in the end."""
    pulse: Path | None = None
    """On that disk too: what the driver renews while it lives. Jobs end when it does."""


def lacks(name: str) -> str | None:
    """Return what to install before the executor of that name can be used, or None."""
    package = NEEDS.get(name)
    if package is None or importlib.util.find_spec(package):
        return None
    return f"needs the package {package}: pip install 'bnnbench[{name}]'"


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
