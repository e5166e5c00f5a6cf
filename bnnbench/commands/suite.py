"""The command line of every suite."""

import functools
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from bnnbench.checkout import command_of
from bnnbench.commands.planning.budget import Piloted, in_words, wall_clock
from bnnbench.commands.planning.dry_run import dry_run
from bnnbench.commands.planning.forecast import forecast
from bnnbench.commands.planning.plan import Plan, plan
from bnnbench.commands.planning.selection import selected
from bnnbench.commands.planning.share import Share
from bnnbench.commands.planning.within_limit import within_limit
from bnnbench.commands.running import sandboxing
from bnnbench.commands.running.arguments import Options, parse
from bnnbench.commands.running.running import carry_out, complete
from bnnbench.commands.running.sources import Provided, left_out, not_installed, provided, resolved
from bnnbench.commands.terminal.display import SECONDS_BETWEEN_LINES, display
from bnnbench.commands.terminal.failures import Terminated, ending_cleanly, print_failures
from bnnbench.commands.terminal.terminal import console_of, say
from bnnbench.datasets.errors import (
    DataDamaged,
    DataUnavailable,
    ExtremeScale,
    NothingToLearn,
    PoolTooSmall,
)
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.third_party_text import legible, shortened
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.declare.probe import has_samples
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.records.round_trip import NotReadable
from bnnbench.engine.run.checkpoints import seconds_between
from bnnbench.engine.run.devices import NoSuchDevice
from bnnbench.engine.run.sandbox.sandbox import Sandbox, SandboxUnavailable
from bnnbench.engine.store.leases import JOBS, LEASES, Leases
from bnnbench.engine.store.store import CorruptRecord, Store, Unwritable
from bnnbench.engine.workers.base import ExecutorUnavailable, executor, prepare_process
from bnnbench.suites import Entry
from bnnbench.wording import UsageError, counted

COMPLETED, NO_REPORT, MISUSED, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 128
"""Exit codes. NO_REPORT: every run was completed, but the report could not be written. MISUSED also
if only runs with damaged records are missing. INTERRUPTED is added to the signal's number: 130 for
Ctrl-C, 143 for SIGTERM.
"""

LONGEST_LABEL = 200
"""Maximum number of characters of a label in a line about runs that are not done."""

WHERE = {
    "serial": "this process",
    "processes": "{} processes",
    "ray": "Ray, {} at once",
    "slurm": "Slurm, {} at once",
}

SCRIPT = "bnnbench"
"""Name of the installed command."""

REPORT = (sys.executable, "-m", "bnnbench", "report")
"""The command that writes a report."""

REPORTED, REPORTED_DAMAGE = 0, 3
"""Exit codes of the report's process; after the second it has printed which files are corrupt."""

MISTAKES = (
    *(UsageError, DataUnavailable, DataDamaged, CorruptRecord, Unwritable),
    *(NothingToLearn, ExtremeScale, PoolTooSmall, ExecutorUnavailable, NoSuchDevice),
    SandboxUnavailable,
)
"""Errors that the user can fix, as their messages explain."""


def main(suites: Mapping[str, Suite], arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line for the profiles of one suite, and exit."""
    sys.exit(command(suites, arguments))


def command(
    suites: Mapping[str, Suite],
    arguments: Sequence[str] | None = None,
    paces: Mapping[str, float | None] = {},
) -> int:
    """Run the command line, and return the exit code.

    `paces` maps a profile of one data set whose runs are estimated by a pilot to its default time
    limit in minutes, or None for no limit.
    """
    first = suites["quick"] if "quick" in suites else next(iter(suites.values()))
    sampled = any(has_samples(probe) for suite in suites.values() for probe in suite.probes)
    entry = Entry(first.title, tuple(suites), sampled)
    return run(suites, parse(first.name, entry, arguments), paces)


def run(
    suites: Mapping[str, Suite], options: Options, paces: Mapping[str, float | None] = {}
) -> int:
    """Run the requested profile, and return the exit code."""
    console = console_of()
    try:
        with ending_cleanly():
            return _carry_out(suites[options.profile], options, console, suites, paces)
    except BrokenPipeError:
        raise  # the command ends quietly
    except (*MISTAKES, NotReadable, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    except KeyboardInterrupt as interrupt:
        console.print()
        say(console, "Interrupted. Finished runs are stored. To continue, repeat the command:")
        say(console, f"  {typed()}")
        number = interrupt.number if isinstance(interrupt, Terminated) else signal.SIGINT
        return INTERRUPTED + number


def typed() -> str:
    """Return this process's command line, quoted for a shell, without the place of `bnnbench`."""
    program, *arguments = sys.orig_argv[1:] or [SCRIPT]
    if Path(program).name == SCRIPT:
        return shlex.join([SCRIPT, *arguments])
    if program == "-m" and (command := command_of(arguments[0])) is not None:
        return shlex.join([SCRIPT, *command, *arguments[1:]])
    return shlex.join(["python", program, *arguments])


def _carry_out(
    declared: Suite,
    options: Options,
    console: Console,
    profiles: Mapping[str, Suite],
    paces: Mapping[str, float | None],
) -> int:
    prepare_process()
    options.export()
    if (data_folder := files.folder()).exists() and not data_folder.is_dir():
        raise UsageError(
            f"the data folder {data_folder} (--data-dir, BNNBENCH_DATA) is a file; give a folder"
        )
    try:
        seconds_between()
    except ValueError as error:
        raise UsageError(str(error)) from error
    requested = selected(declared, options, profiles)
    suite = resolved(requested, options)
    store, sandbox = Store(options.out / suite.name), _sandbox(suite, options)

    def within_pace(rows: Mapping[str, int]) -> tuple[Suite, Piloted | None]:
        """Return the suite, cut to its time limit if it has one, and estimates of its runs."""
        if options.profile not in paces or options.elsewhere:
            return suite, None
        minutes = options.minutes or paces[options.profile]
        tell = functools.partial(say, console)
        return within_limit(suite, declared, options, minutes, rows, store.folder, sandbox, tell)

    if options.dry_run:
        rows = _introduce(suite, requested, options, console)
        return _dry_run(*within_pace(rows), rows, store, options, console)
    with Leases(store.folder / LEASES) as leases:

        def upkeep() -> AbstractContextManager[None]:
            """Return a lock that prevents other drivers from rewriting records and tables."""
            return leases.held(
                "upkeep",
                lambda: say(console, "Waiting for another command to finish writing tables"),
            )

        rows = _introduce(suite, requested, options, console)
        with upkeep():
            suite, piloted = within_pace(rows)
            planned = plan(suite, store, options.device, options.refit, piloted=piloted)
        planned = planned.confined(sandbox)
        _announce(planned, options, console)
        if piloted:
            planned = planned.longest_first(rows)
            _say_time(planned, rows, options, console)
        not_tried = 0
        if not options.detach:
            not_tried = _run(planned, store, leases, options, rows, console)
        elif _submit(planned, store, leases, options, console):
            return COMPLETED
        with upkeep():
            tell = functools.partial(say, console)
            complete(suite, store, now_and_then(tell), tell, _tell_of_damage)
    code = _conclude(suite, planned, store, console, not_tried)
    asked = ["--with-yardsticks"] if options.with_yardsticks else []
    if not options.no_report and not write_report(options.out, asked):
        return code or NO_REPORT
    return code


def _sandbox(suite: Suite, options: Options) -> Sandbox | None:
    """Return the sandbox of third-party methods, which hides data and results; None for none."""
    hidden = [files.folder(), options.out, *options.hidden, *sandboxing.paths_of(suite)]
    return sandboxing.around(hidden) if options.sandbox else None


def _dry_run(
    suite: Suite,
    piloted: Piloted | None,
    rows: Mapping[str, int],
    store: Store,
    options: Options,
    console: Console,
) -> int:
    """Print the plan and its estimated cost, and return the exit code."""
    planned = plan(suite, store, options.device, options.refit, writing=False, piloted=piloted)
    planned = planned.longest_first(rows) if piloted else planned
    _announce(planned, options, console)
    _, settings = options.placement(len(planned.tasks))
    dry_run(planned, rows, settings, console)
    return SOME_FAILED if planned.not_storable else COMPLETED


def _say_time(planned: Plan, rows: Mapping[str, int], options: Options, console: Console) -> None:
    """Print the expected time of a plan."""
    _, settings = options.placement(len(planned.tasks))
    each = [planned.experience.seconds(task, rows) for task in planned.tasks]
    workers, time = settings.workers, in_words(wall_clock(each, settings.workers))
    say(console, f"Estimated time with {counted(workers, 'worker')}: about {time}")


def _introduce(
    suite: Suite, requested: Suite, options: Options, console: Console
) -> dict[str, int]:
    """Print each data set's origin, a banner if stand-ins are used, and what is left out.

    Returns the number of training rows of each data set whose files are available.
    """
    say(console, f"{suite.title} ({suite.profile})")
    later = [case for case in suite.cases if options.dry_run and case.source.missing()]
    sets = [provided(suite, case) for case in suite.cases if case not in later]
    if any("stand-in" in {data_set.origin, *data_set.conditions.values()} for data_set in sets):
        text = (
            "STAND-IN DATA: some files are missing, and small real data that ships inside "
            "scikit-learn takes their place. These numbers say nothing about the real data. "
            "To get it: bnnbench data fetch"
        )
        console.print(Panel(Text(text, "bold"), border_style="yellow"))
    for data_set in sets:
        say(console, f"  {_described(data_set)}")
    for case in later:
        say(console, f"  {case.name}: missing; the command would download it")
    for case in left_out(requested):
        cure = f"bnnbench data fetch {case.source.name}"
        say(console, f"  {case.name}: left out, its files are missing; to get them: {cure}")
    for label, cure in not_installed(requested).items():
        say(console, f"  {label}: left out, it {cure}")
    return {data_set.name: data_set.train_rows for data_set in sets}


def _described(data_set: Provided) -> str:
    other_origins = "".join(f"; {name} {origin}" for name, origin in data_set.conditions.items())
    folds = f", {data_set.folds} folds" if data_set.folds > 1 else ""
    rows = f"{data_set.train_rows} training and {data_set.test_rows} test rows"
    rows += f", a pool of {data_set.pool_rows}" if data_set.pool_rows else ""
    return f"{data_set.name}: {data_set.origin}, {rows}{folds}{other_origins}"


def _announce(planned: Plan, options: Options, console: Console) -> None:
    name, settings = options.placement(len(planned.tasks))
    where = WHERE[name].format(settings.workers)
    where += f", {settings.gpus:g} GPU each (--gpus)" if name == "ray" else ""
    where += f" on {counted(len(settings.devices), 'GPU')}" if settings.devices else ""
    undone = {*planned.not_storable, *(error.path.parent.name for error in planned.damaged)}
    already_finished = len(planned.runs) - planned.left - len(undone & planned.keys)
    finished = f"{already_finished} finished earlier, " if already_finished else ""
    for change in planned.changes:
        say(console, f"  {change}")
    for line in _left_undone(planned):
        _complain(line)
    say(console, f"{counted(len(planned.runs))}: {finished}{planned.left} to do ({where})")


def _complain(line: str) -> None:
    print(legible(line), file=sys.stderr, flush=True)


def _tell_of_damage(error: CorruptRecord) -> None:
    _complain(f"damaged: {error}")


def _left_undone(planned: Plan) -> Iterator[str]:
    """Yield a line for each damaged record, and for runs of which no record could be stored."""
    yield from (f"damaged: {error}" for error in planned.damaged)
    reasons = Counter(
        (run.label, run.case.name, planned.not_storable[run.key])
        for run in planned.runs
        if run.key in planned.not_storable
    )
    for (label, case, reason), count in reasons.items():
        label = shortened(label, LONGEST_LABEL)
        yield f"not done: {label} on {case}, {counted(count)}: {reason}"


def _run(
    planned: Plan,
    store: Store,
    leases: Leases,
    options: Options,
    rows: Mapping[str, int],
    console: Console,
) -> int:
    """Run the tasks; each result is stored as soon as it is finished.

    Returns the number of runs that were not tried.
    """
    name, settings = options.placement(len(planned.tasks))
    jobs = store.folder / JOBS / leases.heartbeat.stem
    settings = replace(settings, folder=jobs.absolute(), heartbeat=leases.heartbeat.absolute())
    expected = forecast(planned.tasks, planned.experience, rows, settings.workers)
    with display(console, planned.left, expected) as progress:
        share = Share(planned, store, leases, progress)
        carry_out(share, executor(name, settings), progress)
    return share.not_tried


def _submit(
    planned: Plan, store: Store, leases: Leases, options: Options, console: Console
) -> bool:
    """Submit jobs that outlive this command, and return whether jobs are queued or running."""
    from bnnbench.commands.running import detached  # imported here because few commands need it

    _, settings = options.placement(len(planned.tasks))
    return detached.submit(planned, store, leases, settings, functools.partial(say, console))


def _conclude(suite: Suite, planned: Plan, store: Store, console: Console, not_tried: int) -> int:
    """Print the tables and failures of the suite's data sets, and return the exit code."""
    # The report is slow to load, and workers, which import what this process has, do not need it.
    from bnnbench.commands.running.summary import print_tables

    sources = {case.name: describe(case.source) for case in suite.cases}
    console.print()
    readable = {record.key: record for record in store.readable()[0]}
    print_tables(
        suite, [r for r in newest(readable.values()) if belongs(r, suite, sources)], console
    )
    records = [readable[run.key] for run in planned.runs if run.key in readable]
    print_failures(records, console)
    say(console, f"{_counts(records, len(planned.runs), not_tried)}: {store.folder}")
    missing = planned.keys - readable.keys()
    damaged = {error.path.parent.name for error in planned.damaged}
    if any(r.outcome.status == "failed" for r in records) or missing - damaged:
        return SOME_FAILED
    return MISUSED if missing else COMPLETED


def _counts(records: Sequence[Record], planned: int, not_tried: int) -> str:
    """Return how many of the planned runs ended in which way."""
    statuses = Counter(record.outcome.status for record in records)
    missing = planned - len(records) - not_tried
    ended = {name: statuses[name] for name in ("diverged", "failed")}
    counts = {"not tried": not_tried, **ended, "missing": missing}
    others = "".join(f", {count} {name}" for name, count in counts.items() if count > 0)
    return f"{statuses['completed']} of {planned} runs completed{others}"


def belongs(record: Record, suite: Suite, sources: Mapping[str, object]) -> bool:
    in_profile = record.profile == suite.profile and record.dataset in sources
    return in_profile and record.run.get("source") == sources[record.dataset]


def write_report(out: Path, asked: Sequence[str] = ()) -> bool:
    """Write the reports in a separate process, and return whether they were written."""
    sys.stdout.flush()
    finished = subprocess.run([*REPORT, str(out), *asked])
    written = finished.returncode in (REPORTED, REPORTED_DAMAGE)
    if not written:
        retry = shlex.join(["bnnbench", "report", str(out), *asked])
        print(
            f"error: the report could not be written; results are stored. To retry: {retry}",
            file=sys.stderr,
        )
    return written


def now_and_then(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that prints a line unless the last one is too recent."""
    told = time.monotonic()

    def tell(line: str) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_LINES:
            say(line)
            told = time.monotonic()

    return tell
