"""`bnnbench.run`: the runs of a suite as a function call, for scripts and notebooks."""

import importlib
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bnnbench.commands.planning.plan import Plan, plan
from bnnbench.commands.planning.selection import selected
from bnnbench.commands.planning.share import Share
from bnnbench.commands.running.arguments import Options, Refit, contradiction, parse
from bnnbench.commands.running.running import Bar, carry_out, complete, process_unchanged
from bnnbench.commands.running.sources import left_out, not_installed, provided, resolved
from bnnbench.commands.terminal.failures import reason_of
from bnnbench.datasets import Policy
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.devices import AUTO, decided
from bnnbench.engine.store.leases import JOBS, LEASES, Leases
from bnnbench.engine.store.store import Store
from bnnbench.engine.workers.base import Silent, executor
from bnnbench.methods.base import Method
from bnnbench.reports.read.frames import scores_of
from bnnbench.suites import SUITES
from bnnbench.wording import UsageError, counted, nearest

if TYPE_CHECKING:
    import pandas as pd


class RunsFailed(RuntimeError):
    """Some runs raised an error, or could not be done; the message has the first reason."""

    def __init__(self, message: str, scores: "pd.DataFrame") -> None:
        super().__init__(message)
        self.scores = scores
        """The scores of the other runs, as `run` returns them."""


class StandInData(UserWarning):
    """Small real data took the place of missing files."""


def run(
    suite: str,
    methods: str | Method | Sequence[str | Method] | None = None,
    datasets: str | Sequence[str] | None = None,
    folds: int | None = None,
    seeds: int | None = None,
    *,
    profile: str | None = None,
    workers: int | None = None,
    out: str | Path = "results",
    device: str = AUTO,
    data: Policy = "auto",
    data_dir: str | Path | None = None,
    offline: bool = False,
    network: str | None = None,
    limit: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    refit: Refit = "missing",
    progress: bool = True,
) -> "pd.DataFrame":
    """Return the scores of a suite's runs, one per row, with the columns of `bnnbench.results`.

    Runs whose results are in the folder `out` are not repeated, and an interrupted call continues
    when it is repeated. The arguments are the options of `bnnbench SUITE`; None leaves a choice to
    the suite. A method is a label of the suite, a registered name, "module:Class" or
    "file.py:Class", each optionally with settings, or an instance.

    Worker processes import nothing of the calling program, so that a script needs no guard and
    standard input or a notebook will do. With `workers=0` all runs are done in this process, which
    alone has classes that are defined in a script or a notebook. Runs that diverged have no score.

    Raises `UsageError` for an argument that names something unknown, `RunsFailed`, with the scores
    of the other runs, if runs failed, `ExecutorUnavailable` for a class that workers cannot find,
    and errors of the data.
    """
    options = _options(
        *(suite, profile),
        methods=None if methods is None else _names(methods),
        datasets=None if datasets is None else _names(datasets),
        folds=_count("folds", folds),
        seeds=_count("seeds", seeds),
        executor="serial" if workers == 0 else "processes",
        workers=_count("workers", workers, least=0) or None,
        out=Path(out),
        device=device,
        data=data,
        data_dir=None if data_dir is None else Path(data_dir),
        offline=offline,
        network=network,
        limit=_count("limit", limit),
        timeout=timeout,
        memory=memory,
        refit=refit,
    )
    with process_unchanged(), _in_words_of_python():
        if (reason := contradiction(options)) is not None:
            raise UsageError(reason)
        return _carried_out(options, suite, progress)


def _carried_out(options: Options, name: str, progress: bool) -> "pd.DataFrame":
    options = replace(options, device=str(decided(options.device)))
    options.export()
    profiles = importlib.import_module(f"bnnbench.suites.{name}").SUITES
    requested = selected(profiles[options.profile], options, profiles)
    suite, store = resolved(requested, options), Store(options.out / requested.name)
    _warn_of_absent(suite, requested)
    with Leases(store.folder / LEASES) as leases:
        with leases.held("upkeep", lambda: None):
            planned = plan(suite, store, options.device, options.refit)
        if planned.damaged:
            raise planned.damaged[0]
        title = f"{name} ({options.profile})"
        with Bar(title, planned.left) if progress else nullcontext(Silent()) as bar:
            for line in planned.changes:
                bar.note(line)
            share = Share(planned, store, leases, bar)
            try:
                carry_out(share, executor(*_placement(planned, store, leases, options)), bar)
            except KeyboardInterrupt:
                bar.note(f"Interrupted. Finished runs are in {store.folder}; repeat to continue.")
                raise
        with leases.held("upkeep", lambda: None):
            complete(suite, store, tell=warnings.warn, progress=lambda line: None)
    return _scores(planned, store)


def _placement(planned: Plan, store: Store, leases: Leases, options: Options) -> tuple[str, Any]:
    name, settings = options.placement(len(planned.tasks))
    jobs = store.folder / JOBS / leases.heartbeat.stem
    return name, replace(settings, folder=jobs.absolute(), heartbeat=leases.heartbeat.absolute())


def _scores(planned: Plan, store: Store) -> "pd.DataFrame":
    """Return the scores of the planned runs. Raises `RunsFailed`."""
    keys = planned.keys
    records = [record for record in store.readable()[0] if record.key in keys]
    scores = scores_of(records)
    failed = [record for record in records if record.outcome.status == "failed"]
    missing = [run for run in planned.runs if run.key not in {record.key for record in records}]
    if not (failed or missing):
        return scores
    reason = _reason(failed[0]) if failed else planned.not_storable.get(missing[0].key, "not tried")
    raise RunsFailed(
        f"{len(failed) + len(missing)} of {counted(len(planned.runs))} failed; the scores of the "
        f"others are in the error's `scores`, and in {store.folder}. The first reason: {reason}",
        scores,
    )


def _reason(record: Record) -> str:
    where = f"{record.method} on {record.dataset}, fold {record.fold}, seed {record.seed}"
    place = f" (in {record.outcome.failed_at})" if record.outcome.failed_at else ""
    return f"{where}: {reason_of(record)}{place}"


def _options(name: str, profile: str | None, **given: Any) -> Options:
    if name not in SUITES:
        raise UsageError(f"suite {nearest(name, SUITES)}")
    entry = SUITES[name]
    if profile is not None and profile not in entry.profiles:
        raise UsageError(f"profile {nearest(profile, entry.profiles)}")
    defaults = parse(name, entry, [])
    return replace(defaults, profile=profile or defaults.profile, no_report=True, **given)


def _names(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str) or hasattr(given, "fit") else tuple(given)


def _count(name: str, value: int | None, least: Literal[0, 1] = 1) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and value >= least):
        raise UsageError(f"{name}: needs a whole number, {least} or more; got {value!r}")
    return value


@contextmanager
def _in_words_of_python() -> Iterator[None]:
    """Name arguments of the function where an error names flags of the command line."""
    try:
        yield
    except UsageError as error:
        text = re.sub(r"--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), str(error))
        raise UsageError(text) from error


def _warn_of_absent(suite: Suite, requested: Suite) -> None:
    """Warn of stand-in data, and of data sets and methods that are left out."""
    sets = [provided(suite, case) for case in suite.cases]
    for one in sets:
        if "stand-in" in {one.origin, *one.conditions.values()}:
            text = "small real data takes the place of missing files, and the scores say nothing "
            text += "about the real data; to get it: bnnbench data fetch"
            warnings.warn(f"{one.name}: {text}", StandInData, stacklevel=4)
    for case in left_out(requested):
        warnings.warn(f"{case.name} is left out: its files are missing", stacklevel=4)
    for label, cure in not_installed(requested).items():
        warnings.warn(f"{label} is left out: it {cure}", stacklevel=4)
