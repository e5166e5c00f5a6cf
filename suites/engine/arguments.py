"""The flags that all suites share."""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from datasets.resolve import Policy
from suites.engine.executors import EXECUTORS, cores
from suites.engine.grid import Suite
from suites.engine.probe import has_samples


@dataclass(frozen=True)
class Options:
    """What the command line asked for; None leaves the choice to the suite or the machine."""

    profile: str
    methods: tuple[str, ...] | None
    datasets: tuple[str, ...] | None
    seeds: int | None
    folds: int | None
    samples: int | None
    data: Policy
    data_dir: Path | None
    out: Path
    device: str
    executor: str | None
    workers: int | None
    limit: int | None
    fresh: bool
    no_report: bool
    offline: bool

    def export(self) -> None:
        """Tell the data sources, here and in worker processes, where files are."""
        if self.data_dir:
            os.environ["BNNBENCH_DATA"] = str(self.data_dir.absolute())
        if self.offline:
            os.environ["BNNBENCH_OFFLINE"] = "1"

    def placement(self, tasks: int) -> tuple[str, int]:
        """Return the executor's name and how many workers it needs for so many tasks."""
        workers = min(self.workers or cores(), max(tasks, 1))
        several = workers > 1 and (self.device == "cpu" or self.workers is not None)
        return self.executor or ("processes" if several else "serial"), workers


def parse(suites: Mapping[str, Suite], arguments: Sequence[str] | None) -> Options:
    """Return the options; a mistake ends the process with code 2 and the reason."""
    any_suite = next(iter(suites.values()))
    parser = argparse.ArgumentParser(
        prog=f"python -m suites.{any_suite.name}",
        description=any_suite.title,
        epilog="Exit codes: 0 all runs completed, 3 some failed or diverged, 2 usage.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--profile", choices=sorted(suites), default=min(suites, key=lambda name: name != "quick"))
    add("--methods", type=_names, metavar="A,B", help="labels, registry keys or module:Class")
    add("--datasets", type=_names, metavar="A,B", help="names of data sets of the suite")
    add("--seeds", type=_count(), metavar="N", help="repeat each fold with N seeds")
    add("--folds", type=_count(), metavar="N", help="at most N folds of each data set")
    if any(has_samples(probe) for suite in suites.values() for probe in suite.probes):
        add("--samples", type=_count(), metavar="N", help="samples behind what is measured")
    parser.set_defaults(samples=None)
    add("--data", choices=("auto", "original", "stand-in"), default="auto")
    add("--data-dir", type=Path, metavar="DIR", help="where data files are, or go")
    add("--out", type=Path, metavar="DIR", default=Path("results"))
    add("--device", choices=("auto", "cpu", "cuda"), default="auto")
    add("--executor", choices=sorted(EXECUTORS), help="default: processes on several cores")
    add("--workers", type=_count(_most_workers()), metavar="N", help="default: one for each core")
    add("--limit", type=_count(), metavar="N", help="only N training and test rows: a smoke test")
    add("--fresh", action="store_true", help="repeat finished runs")
    add("--no-report", action="store_true", help="leave the report as it is")
    add("--offline", action="store_true", help="never touch the network")
    options = Options(**vars(parser.parse_args(arguments)))
    if options.executor == "serial" and (options.workers or 1) > 1:
        parser.error("--workers: the serial executor has one; use --executor processes")
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out: {options.out} is a file, a folder is needed")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no CUDA device here; use --device cpu")
    if options.device == "auto":
        object.__setattr__(options, "device", "cuda" if torch.cuda.is_available() else "cpu")
    return options


def _most_workers() -> int:
    return max(16, 4 * cores())


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("needs at least one name")
    return names


def _count(most: int | None = None) -> Callable[[str], int]:
    """Return a reader of whole numbers from 1 to `most`."""
    needed = f"a whole number from 1 to {most}" if most else "a whole number, 1 or more"

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() else 0
        if number < 1 or (most and number > most):
            raise argparse.ArgumentTypeError(f"needs {needed}; got {text!r}")
        return number

    return read
