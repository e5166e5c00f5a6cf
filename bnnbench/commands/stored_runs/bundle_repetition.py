"""Re-run one run of each method of a bundle, and record the outcome next to the runs."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from bnnbench.commands.planning.forecast import Forecast
from bnnbench.commands.stored_runs.repetition import not_rerun, rerun_of
from bnnbench.commands.stored_runs.reproduction import NoGpuHere, absent_source, task_of
from bnnbench.commands.terminal.display import display
from bnnbench.commands.terminal.terminal import say
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.execute import sources_sha256
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store import bundles, repetitions
from bnnbench.engine.store.rebuilding import NotRepeatable
from bnnbench.engine.store.repetitions import OUTCOMES, Rerun
from bnnbench.engine.workers import Settings
from bnnbench.engine.workers.base import Lost, executor
from bnnbench.wording import counted

Lines = dict[Path, dict[str, Rerun]]
"""Folder of a bundle → key → outcome of the re-run."""
Absent: TypeAlias = Counter[str]
"""Data set that is not on this machine → number of runs that need it."""
Alike = tuple[str, str, str]
"""Profile, method and data set of runs that differ only by seed and fold."""


@dataclass(frozen=True)
class Plan:
    """A run to re-run, and the comparable runs that give the scale of differences."""

    folder: Path
    record: Record
    alike: Sequence[Record]
    """All runs of its method on its data set, including this one."""
    task: Task
    code_sha256: str


class CodeNotCommitted(ValueError):
    """The code has uncommitted changes, so that no commit names it."""


@dataclass(frozen=True)
class Choice:
    """The runs to re-run, and the place of their outcomes."""

    at_most: float
    """Maximum seconds that the recorded run took."""
    packages: Sequence[str] = ()
    """Packages whose classes records may name."""
    out: Path | None = None
    """Folder of outcomes, with a folder for each bundle; None: next to the runs."""

    def place(self, folder: Path) -> Path:
        """Return the folder of the outcomes of a bundle's folder."""
        return self.out / folder.name if self.out else folder


def repeat_bundle(bundle: Path, choice: Choice, workers: int, console: Console) -> None:
    """Re-run the cheapest run of each method and profile whose data are on this machine.

    Raises `CodeNotCommitted`.
    """
    lines: Lines = {}
    plans: dict[str, Plan] = {}
    absent: Absent = Counter()
    for folder in bundles.folders(bundle):
        lines[folder], of_folder = _planned(folder, choice, absent)
        plans |= of_folder
    for plan in plans.values():
        _require_committed(plan, choice)
    finished = sum(key not in plans for of_folder in lines.values() for key in of_folder)
    console.print(f"{counted(len(plans))} to re-run, {finished} re-run earlier", highlight=False)
    if absent:
        needed = ", ".join(f"{name} {count}" for name, count in absent.most_common())
        line = f"left out, since their data are not on this machine: {needed}; to get data: "
        say(console, f"{counted(absent.total())} {line}bnnbench data fetch NAME")
    for key, outcome in _outcomes(plans, workers, console):
        plan = plans[key]
        line = rerun_of(plan.record, outcome, plan.alike, plan.code_sha256)
        lines[plan.folder][key] = line
        repetitions.write(choice.place(plan.folder), lines[plan.folder].values())
    _conclude([line for of_folder in lines.values() for line in of_folder.values()], console)


def _require_committed(plan: Plan, choice: Choice) -> None:
    """Raise `CodeNotCommitted` for changed code, and next to the runs also for code without git."""
    (run,) = plan.task.runs
    dirty = plan.task.code(run).dirty
    if dirty or (choice.out is None and dirty is None):
        raise CodeNotCommitted(
            f"the code of {plan.record.method} has uncommitted changes; commit, so that the "
            "recorded outcome names the code that made it"
        )


def _planned(
    folder: Path, choice: Choice, absent: Absent
) -> tuple[dict[str, Rerun], dict[str, Plan]]:
    """Return the lines that stay and the runs to re-run; one that cannot be re-run gets a line.

    Runs whose data are not on this machine are counted.
    """
    place = choice.place(folder)
    cheapest = list(_cheapest([record for record in bundles.read(folder) if _may_repeat(record)]))
    keys = {record.key for record, _ in cheapest}
    lines = {line.key: line for line in repetitions.read(place) if line.key in keys}
    plans: dict[str, Plan] = {}
    for record, alike in cheapest:
        if _seconds(record) > choice.at_most:
            continue
        try:
            task = task_of(record, choice.packages)
        except NoGpuHere:
            continue
        except NotRepeatable as error:
            lines[record.key] = not_rerun(record, str(error))
            repetitions.write(place, lines.values())
            continue
        if name := absent_source(task):
            absent[name] += 1
            continue
        before, code_sha256 = lines.get(record.key), sources_sha256(task)
        if before is None or before.code_sha256 != code_sha256:
            plans[record.key] = Plan(folder, record, alike, task, code_sha256)
    return lines, plans


def _outcomes(
    plans: Mapping[str, Plan], workers: int, console: Console
) -> Iterator[tuple[str, RunResult]]:
    """Yield the key and the outcome of each run as it ends."""
    forecast = Forecast({key: _seconds(plan.record) for key, plan in plans.items()}, workers)
    tasks = (plan.task for plan in plans.values())
    place = executor("serial" if workers == 1 else "processes", Settings(workers))
    with display(console, len(plans), forecast) as shown, closing(place.map(tasks, shown)) as ends:
        for task, result in ends:
            (outcome,) = (
                lost(task, result.reason, result.place) if isinstance(result, Lost) else result
            )
            shown.finished(task, [outcome])
            yield task.runs[0].key, outcome


def _may_repeat(record: Record) -> bool:
    return (
        record.outcome.status == "completed" and record.external is None and "source" in record.run
    )


def _cheapest(records: Sequence[Record]) -> Iterator[tuple[Record, Sequence[Record]]]:
    """Yield the cheapest run of each profile and method, and the comparable runs."""
    alike: dict[Alike, list[Record]] = defaultdict(list)
    for record in records:
        alike[record.profile, record.method, record.dataset].append(record)
    for profile, method in dict.fromkeys(place[:2] for place in alike):
        groups = [runs for place, runs in alike.items() if place[:2] == (profile, method)]
        runs = min(groups, key=lambda runs: min(map(_price, runs)))
        yield min(runs, key=_price), runs


def _price(record: Record) -> tuple[float, str]:
    return _seconds(record), record.key


def _seconds(record: Record) -> float:
    """Return the processor time of a run, or its wall-clock time if that is unknown."""
    cost = record.cost
    if cost is None:
        return math.inf
    fit = cost.fit_seconds if cost.fit_cpu_seconds is None else cost.fit_cpu_seconds
    predict = cost.predict_seconds if cost.predict_cpu_seconds is None else cost.predict_cpu_seconds
    return fit + predict


def _conclude(repeated: Sequence[Rerun], console: Console) -> None:
    for outcome in OUTCOMES:
        if alike := [r for r in repeated if r.outcome == outcome]:
            console.print(f"{outcome}: {counted(len(alike))}", highlight=False)
    for r in sorted(repeated, key=lambda r: -(r.spreads or 0.0)):
        if r.outcome == "differs" or r.reason:
            what = r.reason or (
                f"{r.score} was {r.recorded:.4g}, is {r.repeated:.4g}: {r.spreads:.2g} spreads"
            )
            line = f"  {r.method} on {r.dataset} ({r.profile}), {r.key}: {what}"
            console.print(legible(line), markup=False, highlight=False, soft_wrap=True)
