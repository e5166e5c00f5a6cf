"""Executors of tasks, all with the same interface, and their settings."""

import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bnnbench.engine.run.devices import SHARE, gpus_here

EXECUTORS: Mapping[str, str] = {
    "serial": "bnnbench.engine.workers.local:Serial",
    "processes": "bnnbench.engine.workers.local:Processes",
    "ray": "bnnbench.engine.workers.clusters.ray:Ray",
    "slurm": "bnnbench.engine.workers.clusters.slurm:Slurm",
}

NEEDS: Mapping[str, str] = {"ray": "ray", "slurm": "submitit"}
"""The package that an executor needs; the extra of this project has the executor's name."""

SLURM_FLAGS: Mapping[str, str] = {"partition": "--partition NAME", "time": "--minutes N"}
"""Options of sbatch that have a flag on the command line of a suite."""

SET_ALREADY = (
    *("array", "error", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable"),
    *("signal", "test-only", "wait", "wrap"),
)

SLURM_CPUS = "cpus-per-task"

OF_GPUS = re.compile(r"gpus(-per-\w+)?|gres")

SlurmOptions = Mapping[str, str | bool]
"""Name of an sbatch option → its value; True for a switch."""


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
    options: SlurmOptions = field(default_factory=dict)
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
        return int(self.options.get(SLURM_CPUS, 1))


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


def slurm_option(text: str) -> tuple[str, str | bool]:
    """Return name and value of NAME=VALUE or NAME; raises ValueError with the reason."""
    name, given, value = text.partition("=")
    if not re.fullmatch(r"[a-z][a-z-]+", name) or (given and not value) or not text.isprintable():
        raise ValueError(
            "needs an sbatch option without its dashes, such as account=abc, gres=gpu:a100:1 or "
            f"exclusive; got {text!r}"
        )
    if name in SLURM_FLAGS:
        raise ValueError(f"{name}: use {SLURM_FLAGS[name]}")
    if name in SET_ALREADY:
        raise ValueError(f"{name}: cannot be changed, because this command's jobs depend on it")
    if name == SLURM_CPUS and not re.fullmatch(r"[1-9]\d*", value):
        raise ValueError(f"{name}: needs a whole number, 1 or more; got {value!r}")
    return name, value if given else True


def asks_for_gpus(options: SlurmOptions) -> bool:
    """Return whether these options request GPUs for jobs."""
    return any(
        OF_GPUS.fullmatch(name) and (name != "gres" or "gpu" in str(value))
        for name, value in options.items()
    )


VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Gpu:
    """The only GPU visible to a worker's processes, and the worker's share of it."""

    name: str
    """Its number or identifier in `CUDA_VISIBLE_DEVICES`."""
    share: float = 1.0

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of the worker's processes."""
        return {VISIBLE: self.name, SHARE: f"{self.share:.6f}"}


def gpus_for(device: str, count: Callable[[], int]) -> tuple[int, ...]:
    """Return the numbers of the GPUs that a device's name stands for on this machine.

    "cuda:1" stands for one, "auto" and "cuda" for all, "cpu" for none, without counting them.
    """
    if device == "cpu":
        return ()
    _, named, number = device.partition(":")
    return (int(number),) if named else tuple(range(count()))


def gpu_of(worker: int, workers: int, devices: Sequence[int]) -> Gpu | None:
    """Return the GPU of a worker by its number, round-robin. None without devices.

    Devices are numbered among those visible to this process.
    """
    if not devices:
        return None
    turn = worker % len(devices)
    sharing = len(range(turn, workers, len(devices)))
    visible = os.environ.get(VISIBLE)
    names = visible.split(",") if visible else []
    device = devices[turn]
    return Gpu(names[device].strip() if names else str(device), 1 / sharing)


def on_this_machine(
    settings: Settings, device: str, count: Callable[[], int] = gpus_here
) -> Settings:
    """Return a job's settings with one process per GPU; without GPUs, one per processor.

    `count` returns the number of GPUs of the job.
    """
    devices = gpus_for(device, count)
    return replace(settings, workers=len(devices) or settings.cpus, devices=devices)
