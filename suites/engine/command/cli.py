"""The command line that all suites share."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from bnnbench.datasets.base import DataDamaged, DataUnavailable, NothingToLearn, PoolTooSmall
from bnnbench.datasets.reading import files
from bnnbench.suites import Entry
from bnnbench.suites.engine.command.arguments import Options, parse
from bnnbench.suites.engine.command.display import display
from bnnbench.suites.engine.command.dry_run import dry_run
from bnnbench.suites.engine.command.interrupts import Terminated, ending_cleanly
from bnnbench.suites.engine.command.plan import Plan, plan
from bnnbench.suites.engine.command.selection import UsageError, selected
from bnnbench.suites.engine.command.share import Share
from bnnbench.suites.engine.command.sources import (
    Provided,
    left_out,
    not_installed,
    provided,
    resolved,
)
from bnnbench.suites.engine.command.summary import print_failures, print_tables
from bnnbench.suites.engine.declare.description import describe
from bnnbench.suites.engine.declare.grid import Suite
from bnnbench.suites.engine.declare.probe import has_samples
from bnnbench.suites.engine.executors.base import (
    ExecutorUnavailable,
    Lost,
    executor,
    prepare_process,
)
from bnnbench.suites.engine.run.execute import lost
from bnnbench.suites.engine.store.claims import Claims
from bnnbench.suites.engine.store.curves import keep_curves
from bnnbench.suites.engine.store.distances import add_distances
from bnnbench.suites.engine.store.planes import keep_planes
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Damaged, Store, Unwritable
from bnnbench.suites.engine.store.tables import write_tables

COMPLETED, NO_REPORT, MISUSED, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 128
"""Exit codes. NO_REPORT: every run was completed, but the report could not be made. INTERRUPTED:
to which the signal's number is added: 130 for Ctrl-C, 143 for SIGTERM."""

CLAIMS, JOBS = ".claims", ".jobs"
"""Folders in a store: which driver carries out what, and files of Slurm's jobs."""

WHERE = {
    "serial": "this process",
    "processes": "{} processes",
    "ray": "{} workers of Ray",
    "slurm": "{} jobs of Slurm at once",
}

REPORTED, REPORTED_DAMAGE = 0, 3
"""Exit codes of the report's process; with the latter it has named what is damaged."""

MISTAKES = (
    *(UsageError, DataUnavailable, DataDamaged, Damaged, Unwritable),
    *(NothingToLearn, PoolTooSmall, ExecutorUnavailable),
)
"""What the user can cure; their messages say how."""

WIDTH_OF_FILES = 120
"""Columns where standard output is no terminal."""


def main(suites: Mapping[str, Suite], arguments: Sequence[str] | None = None) -> NoReturn:
    """Carry out what the command line asks of the profiles of one suite, and exit."""
    sys.exit(command(suites, arguments))


def command(suites: Mapping[str, Suite], arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line asks for, and return the exit code."""
    first = suites["quick"] if "quick" in suites else next(iter(suites.values()))
    sampled = any(has_samples(probe) for suite in suites.values() for probe in suite.probes)
    entry = Entry(first.title, tuple(suites), sampled)
    return run(suites, parse(first.name, entry, arguments))


def run(suites: Mapping[str, Suite], options: Options) -> int:
    """Carry out the profile that was asked for, and return the exit code."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_OF_FILES)
    try:
        with ending_cleanly():
            return _carry_out(suites[options.profile], options, console, suites)
    except MISTAKES as error:
        print(f"error: {error}", file=sys.stderr)
        return MISUSED
    except KeyboardInterrupt as interrupt:
        _say(console, "\nInterrupted. What is finished is kept; to go on, the same command:")
        _say(console, f"  {shlex.join(['python', *sys.orig_argv[1:]])}")
        number = interrupt.number if isinstance(interrupt, Terminated) else signal.SIGINT
        return INTERRUPTED + number


def _carry_out(
    declared: Suite, options: Options, console: Console, profiles: Mapping[str, Suite]
) -> int:
    prepare_process()
    options.export()
    if (place := files.folder()).exists() and not place.is_dir():
        raise UsageError(f"the data folder {place} (--data-dir, BNNBENCH_DATA) is a file")
    asked = selected(declared, options, profiles)
    suite = resolved(asked, options)
    store = Store(options.out / suite.name)
    if options.dry_run:
        return _foresee(suite, asked, store, options, console)
    with Claims(store.folder / CLAIMS) as claims:

        def upkeep() -> AbstractContextManager[None]:
            """Keep other drivers from bringing records and tables up to date meanwhile."""
            return claims.held(
                "upkeep", lambda: _say(console, "Waiting: another command is writing tables")
            )

        _introduce(suite, asked, options, console)
        with upkeep():
            planned = plan(suite, store, options.device, options.refit)
        _announce(planned, options, console)
        _run(planned, store, claims, options, console)
        with upkeep():
            for line in add_distances(suite, store):
                _say(console, line)
            keep_curves(suite, store)
            keep_planes(suite, store)
            write_tables(store)
    code = _conclude(suite, planned, store, console)
    if not options.no_report and not _report(options.out):
        return code or NO_REPORT
    return code


def _foresee(suite: Suite, asked: Suite, store: Store, options: Options, console: Console) -> int:
    """Say what would be done."""
    rows = _introduce(suite, asked, options, console)
    planned = plan(suite, store, options.device, options.refit, writing=False)
    _announce(planned, options, console)
    _, settings = options.placement(len(planned.tasks))
    dry_run(planned, store, rows, settings, console)
    return COMPLETED


def _introduce(suite: Suite, asked: Suite, options: Options, console: Console) -> dict[str, int]:
    """Say where each data set comes from, loudest where it is a stand-in, and what is left out.

    Returns the training rows of those that are here.
    """
    _say(console, f"{suite.title} ({suite.profile})")
    later = [case for case in suite.cases if options.dry_run and case.source.missing()]
    sets = [provided(suite, case) for case in suite.cases if case not in later]
    if any("stand-in" in {one.origin, *one.conditions.values()} for one in sets):
        text = (
            "STAND-IN DATA: some files are missing, and small real data that ships inside "
            "scikit-learn takes their place. These numbers say nothing about the real data. "
            "To get it: bnnbench data fetch"
        )
        console.print(Panel(Text(text, "bold"), border_style="yellow"))
    for one in sets:
        _say(console, f"  {_described(one)}")
    for case in later:
        _say(console, f"  {case.name}: not here; the command would download it")
    for case in left_out(asked):
        cure = f"bnnbench data fetch {case.source.name}"
        _say(console, f"  {case.name}: left out, its files are not here; to get them: {cure}")
    for label, cure in not_installed(asked).items():
        _say(console, f"  {label}: left out, it {cure}")
    return {one.name: one.train_rows for one in sets}


def _described(one: Provided) -> str:
    others = "".join(f"; {name} {origin}" for name, origin in one.conditions.items())
    folds = f", {one.folds} folds" if one.folds > 1 else ""
    rows = f"{one.train_rows} training and {one.test_rows} test rows"
    rows += f", a pool of {one.pool_rows}" if one.pool_rows else ""
    return f"{one.name}: {one.origin}, {rows}{folds}{others}"


def _announce(planned: Plan, options: Options, console: Console) -> None:
    name, settings = options.placement(len(planned.tasks))
    where = WHERE[name].format(settings.workers)
    kept = len(planned.runs) - planned.left
    finished = f"{kept} finished earlier, " if kept else ""
    for change in planned.changes:
        _say(console, f"  {change}")
    _say(console, f"{len(planned.runs)} runs: {finished}{planned.left} to do ({where})")


def _run(planned: Plan, store: Store, claims: Claims, options: Options, console: Console) -> None:
    """Carry out the tasks; each is kept as soon as it is finished."""
    name, settings = options.placement(len(planned.tasks))
    jobs = store.folder / JOBS / claims.pulse.stem
    settings = replace(settings, folder=jobs.absolute(), pulse=claims.pulse.absolute())
    with display(console, planned.left) as shown:
        share = Share(planned, store, claims, shown)
        with closing(executor(name, settings).map(share.tasks(), shown)) as results:
            for task, result in results:
                outcomes = lost(task, result.reason) if isinstance(result, Lost) else result
                share.keep(outcomes)
                shown.finished(task, outcomes)


def _conclude(suite: Suite, planned: Plan, store: Store, console: Console) -> int:
    """Print tables of the suite's data sets and the failures, and return the exit code."""
    sources = {case.name: describe(case.source) for case in suite.cases}
    console.print()
    shown = [r for r in store.current() if _belongs(r, suite, sources)]
    print_tables(suite, shown, console)
    records = [record for run in planned.runs if (record := store.read(run.key))]
    print_failures(records, console)
    failed = sum(record.status != "completed" for record in records)
    _say(console, f"{len(records) - failed} of {len(records)} runs completed: {store.folder}")
    return SOME_FAILED if failed else COMPLETED


def _belongs(record: Record, suite: Suite, sources: Mapping[str, object]) -> bool:
    known = record.profile == suite.profile and record.dataset in sources
    return known and record.run.get("source") == sources[record.dataset]


def _report(out: Path) -> bool:
    """Write the reports in a process of its own, and return whether that went well."""
    sys.stdout.flush()
    finished = subprocess.run([sys.executable, "-m", "bnnbench", "report", str(out)])
    made = finished.returncode in (REPORTED, REPORTED_DAMAGE)
    if not made:
        again = shlex.join(["bnnbench", "report", str(out)])
        print(f"error: the report was not made; the results are. Again: {again}", file=sys.stderr)
    return made


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
