"""The flags shared by all suites."""

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from bnnbench.commands.running import clusters, sandboxing, values
from bnnbench.commands.running.suite_labels import SuiteLabels
from bnnbench.commands.terminal.parser import Parser, add_yardsticks
from bnnbench.datasets import Policy
from bnnbench.datasets.reading.third_party_text import legible, shortened
from bnnbench.engine.method_settings.spelling import check_methods, requests_in
from bnnbench.engine.run.devices import AUTO, NoSuchDevice, decided, gpus_here
from bnnbench.engine.run.sandbox import sandbox
from bnnbench.engine.workers import (
    EXECUTORS,
    Limits,
    Settings,
    asks_for_gpus,
    cores,
    gpus_for,
    lacks,
)
from bnnbench.methods import environments
from bnnbench.suites import Entry
from bnnbench.wording import UsageError

if TYPE_CHECKING:
    from bnnbench.methods.base import Method

WORKERS_ELSEWHERE = 16
"""Default number of workers on a cluster."""

MOST_SEEDS = 100_000
"""Maximum number of seeds per fold; every run is planned in memory."""

Refit = Literal["missing", "changed", "all"]
"""Runs to be done: those without a result, also those recorded with other code, or all."""


@dataclass(frozen=True)
class Options:
    """The command line's choices; None leaves a choice to the suite or the machine."""

    profile: str
    methods: "tuple[str | Method, ...] | None"
    settings: Path | None
    network: str | None
    env: list[tuple[str, str]]
    datasets: tuple[str, ...] | None
    seeds: int | None
    folds: int | None
    samples: int | None
    data: Policy
    data_dir: Path | None
    out: Path
    device: str
    executor: str | None
    in_process: bool
    sandbox: bool
    hidden: tuple[Path, ...]
    """Files and folders that `--sandbox` hides, in addition to data and results."""
    workers: int | None
    timeout: float | None
    memory: int | None
    address: str | None
    wait: float
    working_dir: Path | None
    gpus: float | None
    partition: str | None
    slurm: list[tuple[str, str | bool]]
    runs_per_job: int | None
    detach: bool
    minutes: int | None
    limit: int | None
    refit: Refit
    no_report: bool
    with_yardsticks: bool
    offline: bool
    dry_run: bool

    def export(self) -> None:
        """Export the data folder and other libraries' interpreters to this process's environment.

        Data sources and methods read them there, in this process and in workers.
        """
        if self.data_dir:
            os.environ["BNNBENCH_DATA"] = str(self.data_dir.absolute())
        if self.offline:
            os.environ["BNNBENCH_OFFLINE"] = "1"
        if self.env:
            environments.add(dict(self.env))

    @property
    def flags_of_methods(self) -> str:
        """The flags that name methods: "--methods"."""
        given = {"--methods": self.methods, "--settings": self.settings}
        return ", ".join(flag for flag, value in given.items() if value) or "--methods"

    @property
    def limits(self) -> Limits:
        """The time and memory limits of each run."""
        return Limits(self.timeout, self.memory)

    @property
    def elsewhere(self) -> bool:
        """True if workers are on other machines, whose devices are unknown here."""
        return self.executor in ("ray", "slurm")

    def placement(self, tasks: int, count: Callable[[], int] = gpus_here) -> tuple[str, Settings]:
        """Return the executor's name, and its settings for this number of tasks.

        `count` returns the number of GPUs of this machine.
        """
        devices = () if self.elsewhere else gpus_for(self.device, count)
        packs = math.ceil(tasks / (self.runs_per_job or 1))
        workers = min(self.workers or self._most_workers(len(devices)), max(packs, 1))
        name = self.executor or ("processes" if workers > 1 or self.limits else "serial")
        settings = Settings(
            workers=1 if name == "serial" else workers,
            limits=self.limits,
            isolate=not self.in_process,
            devices=devices[: 1 if name == "serial" else workers],
            gpus=self._gpus(),
            address=self.address,
            wait_minutes=self.wait,
            working_dir=self.working_dir,
            partition=self.partition,
            options=dict(self.slurm),
            pack=self.runs_per_job or 1,
            minutes=self.minutes or Settings.minutes,
        )
        return name, settings

    def _gpus(self) -> float:
        """Return the GPUs of each worker of a cluster, unless Slurm's options request GPUs."""
        if self.gpus is None and not asks_for_gpus(dict(self.slurm)):
            return float(self.device == "cuda")
        return self.gpus or 0.0

    def _most_workers(self, devices: int) -> int:
        """Return the default number of workers."""
        if self.executor == "slurm" or (self.executor == "ray" and self.address):
            return WORKERS_ELSEWHERE
        return 1 if self.executor == "serial" else devices or cores()


def parse(name: str, suite: Entry, arguments: Sequence[str] | None) -> Options:
    """Return the options; a mistake prints its reason and ends the process with code 2."""
    parser = Parser(
        prog=f"bnnbench {name}",
        description=suite.title,
        epilog="Exit codes: 0 all runs completed or diverged, 1 the report could not be written, "
        "2 usage, or damaged records, 3 some runs failed or are missing.",
    )
    add = parser.add_argument
    add(
        "--profile",
        choices=suite.profiles,
        default=min(suite.profiles, key=lambda p: p != "quick"),
        help="quick takes minutes, paper follows the published protocol; default: %(default)s",
    )
    add(
        "--methods",
        type=values.methods,
        metavar="A,B",
        help="labels of the suite, names that `bnnbench methods` lists, module:Class or "
        "file.py:Class, each optionally with settings: 'ivon(learning_rate=0.3, epochs=200)'; "
        "settings of an inner method that are not given have their defaults",
    )
    add(
        "--settings",
        type=Path,
        metavar="FILE",
        help="TOML file with a table of settings per method, in addition to --methods: "
        "[ivon] and on the next line learning_rate = 0.3",
    )
    add(
        "--network",
        metavar="FILE.py:NAME",
        help="custom network in place of the suite's: a function or class that returns a "
        "torch.nn.Module; its parameters named inputs and outputs are filled in",
    )
    add(
        "--env",
        type=values.environment,
        metavar="NAME=PATH",
        action="append",
        default=[],
        help="Python interpreter of a library's environment; the library's methods run in "
        f"processes there: {', '.join(environments.LIBRARIES)}; repeat for each library",
    )
    add(
        "--datasets",
        type=values.names,
        metavar="A,B",
        help="data sets of the profile, by name; default: all",
    )
    add(
        "--seeds",
        type=values.count(most=MOST_SEEDS),
        metavar="N",
        help="number of seeds per fold; default: set by the profile",
    )
    add(
        "--folds",
        type=values.count(),
        metavar="N",
        help="maximum number of folds per data set; default: set by the profile",
    )
    if suite.sampled:
        add(
            "--samples",
            type=values.count(),
            metavar="N",
            help="number of samples drawn by each probe",
        )
    parser.set_defaults(samples=None, hidden=())
    add(
        "--data",
        choices=("auto", "original", "stand-in"),
        default="auto",
        help="official files, small substitutes, or (auto) substitutes for missing files",
    )
    add(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="folder of data files and downloads; default: BNNBENCH_DATA, else the user's cache",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        default=Path("results"),
        help="folder for results; default: %(default)s",
    )
    add(
        "--device",
        type=values.device,
        metavar="NAME",
        default=AUTO,
        help="auto, cpu, cuda, or one GPU of this machine by its number, such as cuda:1; auto: "
        "cuda if the process that fits has a GPU, else cpu",
    )
    add(
        "--executor",
        choices=sorted(EXECUTORS),
        help="where to run; default: worker processes if there are several cores",
    )
    add(
        "--workers",
        type=values.workers,
        metavar="N",
        help="number of workers, which share this machine's GPUs and their memory equally; "
        "default, or auto: one per GPU; without GPUs, one per core; on a cluster "
        f"{WORKERS_ELSEWHERE}",
    )
    add("--timeout", type=values.seconds, metavar="SECONDS", help="time limit of each run")
    add(
        "--memory", type=values.size, metavar="SIZE", help="memory limit of each worker, such as 4G"
    )
    add(
        "--in-process",
        action="store_true",
        help="run third-party methods in the shared process (for debugging); they can then see the "
        "test rows and change other methods' numbers",
    )
    add("--sandbox", action="store_true", help=sandboxing.HELP)
    clusters.add_flags(add)
    add(
        "--dry-run",
        action="store_true",
        help="print the planned runs, their time and memory; run nothing",
    )
    add(
        "--limit",
        type=values.count(),
        metavar="N",
        help="use only N training and N test rows, as a smoke test",
    )
    add("--refit", choices=get_args(Refit), default="missing",
        help="repeat finished runs: those recorded with other code (changed), or all; "
        "default: only do runs without a result (missing)")  # fmt: skip
    add("--no-report", action="store_true", help="do not write the report")
    add_yardsticks(parser)
    add("--offline", action="store_true", help="download nothing")
    options = Options(**vars(parser.parse_args(arguments)))
    if reason := contradiction(options):
        parser.error(reason)
    try:
        named = [method for method in options.methods or () if isinstance(method, str)]
        check_methods([*named, *requests_in(options.settings)], SuiteLabels(name))
    except UsageError as error:
        parser.exit(2, f"error: {options.flags_of_methods}: {legible(error)}\n")
    try:
        if options.out.exists() and not options.out.is_dir():
            parser.error(f"--out: {options.out} is a file; give a folder")
    except OSError as error:  # its name is too long, or a folder above it cannot be read
        parser.error(f"--out: {error.strerror}: {shortened(str(options.out), 200)}")
    if options.elsewhere:
        given = options.gpus or asks_for_gpus(dict(options.slurm))
        return replace(options, device="cuda") if given else options
    try:
        device = decided(options.device)
    except NoSuchDevice as error:
        parser.error(str(error))
    return replace(options, device=str(device))


def contradiction(options: Options) -> str | None:
    """Return a message about flags that exclude each other or an unavailable executor, if any."""
    name, limits = options.executor, options.limits
    if name and (lacking := lacks(name)):
        return f"--executor {name}: {lacking}"
    if name == "serial" and (options.workers or 1) > 1:
        return "--workers: the serial executor has one worker; use --executor processes"
    if name == "serial" and limits:
        return (
            "--timeout, --memory: the serial executor cannot stop a run; use --executor processes"
        )
    if options.sandbox and options.in_process:
        return "--in-process: without a process of its own, a method cannot be in the --sandbox"
    if options.sandbox and not options.elsewhere and (lacking_here := sandbox.lacking()):
        return f"--sandbox: {lacking_here}"
    if limits.bytes and not sys.platform.startswith("linux"):
        return "--memory: works only on Linux, where a process's memory can be read"
    if name in (None, "serial", "processes") and (options.workers or 1) > most_workers():
        return f"--workers: give a whole number from 1 to {most_workers()} on this machine"
    return _contradiction_of_clusters(options)


def _contradiction_of_clusters(options: Options) -> str | None:
    """Return a message about flags that an executor lacks or that exclude each other."""
    name = options.executor
    of_slurm = dict(options.slurm)
    for flag, value, executors in (
        ("address", options.address, ("ray", "slurm")),
        ("gpus", options.gpus, ("ray", "slurm")),
        ("working-dir", options.working_dir, ("ray",)),
        ("partition", options.partition, ("slurm",)),
        ("slurm", of_slurm or None, ("slurm",)),
        ("runs-per-job", options.runs_per_job, ("slurm",)),
        ("detach", options.detach or None, ("slurm",)),
    ):
        if value is not None and name not in executors:
            return f"--{flag}: needs --executor {' or '.join(executors)}"
    if options.working_dir and not options.working_dir.is_dir():
        return f"--working-dir: {options.working_dir} is not a folder"
    if options.elsewhere and ":" in options.device:
        return f"--device {options.device}: names a GPU of this machine; on a cluster, use --gpus 1"
    if options.gpus is not None and asks_for_gpus(of_slurm):
        return "--gpus and --slurm both ask for GPUs; give one of them"
    if options.device == "cpu" and (options.gpus or asks_for_gpus(of_slurm)):
        return "--gpus, --slurm: with --device cpu, workers would leave their GPUs idle"
    if options.gpus == 0 and options.device == "cuda":
        return "--gpus 0: with --device cuda, workers need a GPU or a share of one"
    if name == "slurm" and options.address not in (None, "local"):
        return "--address: with Slurm the only address is local, which runs jobs on this machine"
    if name == "slurm" and options.gpus and options.gpus % 1:
        return "--gpus: Slurm allocates only whole GPUs; give a whole number"
    return None


def most_workers() -> int:
    """Return the maximum number of worker processes on this machine."""
    return max(16, 4 * cores())
