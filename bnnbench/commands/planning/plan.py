"""The runs of a command: those to be done and those already finished."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from bnnbench.commands.planning.budget import Experience, Piloted
from bnnbench.commands.planning.changes import changes_since
from bnnbench.commands.running.arguments import Refit
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation, Run, Suite, after_each_fit, grouped
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.records.round_trip import NotReadable
from bnnbench.engine.run.checkpoints import FOLDER, discard
from bnnbench.engine.run.outcomes import check_planned
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.run.task import Task, codes_of
from bnnbench.engine.store.rescoring.rescore import rescore
from bnnbench.engine.store.store import CorruptRecord, Store


@dataclass(frozen=True)
class Plan:
    """Every run of a suite, and the remaining tasks."""

    runs: tuple[Run, ...]
    tasks: tuple[Task, ...]
    before: Mapping[str, object]
    """Key of a run to be repeated → the time when its current record was finished."""
    changes: tuple[str, ...] = ()
    """A sentence for each kind of change since runs were recorded."""
    experience: Experience = field(default_factory=Experience)
    """The costs of the store's runs."""
    not_storable: Mapping[str, str] = field(default_factory=dict)
    """Key of a run that is not done, because no record of it could be read back → the reason."""
    damaged: tuple[CorruptRecord, ...] = ()
    """The store's records that cannot be read; their runs are not done."""

    @property
    def keys(self) -> set[str]:
        """Keys of all runs."""
        return {run.key for run in self.runs}

    @property
    def left(self) -> int:
        """Number of runs to be done."""
        return sum(len(task.runs) for task in self.tasks)

    def confined(self, sandbox: Sandbox | None) -> "Plan":
        """Return the plan with the tasks of third-party methods in a sandbox, if there is one."""
        tasks = tuple(task.confined(sandbox) for task in self.tasks)
        return dataclasses.replace(self, tasks=tasks)

    def longest_first(self, rows: Mapping[str, int]) -> "Plan":
        """Return the plan with its tasks by their expected time, so that no long one is the last.

        `rows` maps each case to its number of training rows.
        """
        tasks = sorted(self.tasks, key=lambda task: -self.experience.seconds(task, rows))
        return dataclasses.replace(self, tasks=tuple(tasks))


def plan(
    suite: Suite,
    store: Store,
    device: str,
    refit: Refit = "missing",
    writing: bool = True,
    piloted: Piloted | None = None,
) -> Plan:
    """Return the plan; if `writing`, first update finished runs' records to the suite.

    A run is finished if it completed or diverged under every condition of the suite, on the
    present data and, if its method comes from outside this project, with the present code; a
    failed run is repeated. Runs whose records are damaged, or could not be read back, are left out.
    `piloted` estimates costs of runs from a pilot.
    """
    planned = tuple({run.key: run for run in suite.runs()}.values())
    settings = suite.evaluations, device, suite.reproduces, store.folder / FOLDER
    not_storable = _not_storable(planned, Task((), *settings))
    readable, damaged = store.readable()
    unusable = {*not_storable, *(error.path.parent.name for error in damaged)}
    runs = {run.key: run for run in planned if run.key not in unusable}
    if refit == "all" and writing:
        discard(store.folder / FOLDER, runs)
    records = {record.key: record for record in readable}
    finished = {} if refit == "all" else _finished(suite, runs, records)
    changed = changes_since(finished, runs)
    for key in changed.outdated | (changed.other_code if refit == "changed" else set()):
        del finished[key]
    current = {record.key for record in newest(records.values())}
    if finished and writing:
        _adopt(suite, runs, finished, current, store)
        scored = chain.from_iterable(_scored(suite, run) for run in runs.values())
        metrics = {evaluation.condition.name: evaluation.metrics for evaluation in scored}
        rescore(store, metrics, finished.keys(), damaged.append)
    unfinished = (run for key, run in runs.items() if key not in finished)
    remaining = grouped(unfinished, suite.fitted_together)
    tasks = [
        Task(together, *settings, codes_of(together), suite.shortened) for together in remaining
    ]
    repeated = records.keys() & runs.keys() - finished.keys()
    before = {key: records[key].circumstances.provenance.get("finished") for key in repeated}
    lines = changed.sentences(refit)
    experience = Experience(records.values() if tasks else (), piloted=piloted)
    return Plan(planned, tuple(tasks), before, lines, experience, not_storable, tuple(damaged))


def _not_storable(runs: Iterable[Run], task: Task) -> dict[str, str]:
    """Return key → reason, for runs of which no record could be read back."""
    reasons: dict[tuple[str, Case], str] = {}
    refused: dict[str, str] = {}
    for run in runs:
        kind = run.label, run.case  # folds and seeds make no difference
        if kind not in reasons:
            reasons[kind] = _reason(run, task)
        if reasons[kind]:
            refused[run.key] = reasons[kind]
    return refused


def _reason(run: Run, task: Task) -> str:
    """Return the reason why no record of a run could be read back; "" if it could."""
    try:
        check_planned(run, task)
    except NotReadable as error:
        return str(error)
    return ""


def _finished(
    suite: Suite, runs: Mapping[str, Run], records: Mapping[str, Record]
) -> dict[str, Record]:
    return {
        key: records[key]
        for key, run in runs.items()
        if key in records
        and records[key].outcome.status != "failed"
        and {e.condition.name for e in _scored(suite, run)}
        <= records[key].circumstances.condition_origins.keys()
    }


def _scored(suite: Suite, run: Run) -> list[Evaluation]:
    """Return the evaluations that score a run, in any of its rounds."""
    return list(chain.from_iterable(after_each_fit(suite.evaluations, run.acquisition)))


def _adopt(
    suite: Suite,
    runs: Mapping[str, Run],
    finished: Mapping[str, Record],
    current: set[str],
    store: Store,
) -> None:
    """Update the names and target tables in finished runs' records to those of the suite.

    If other settings were tried later under the same label, the run is marked as chosen now.
    """
    claims = [describe(dataclasses.asdict(claim)) for claim in suite.reproduces]
    adopted = []
    for key, record in finished.items():
        changes: dict[str, object] = {}
        circumstances = record.circumstances
        provenance = dict(circumstances.provenance)
        if key not in current:
            provenance["chosen"] = store.clock.now()
        if provenance.get("shortened", "") != suite.shortened:
            provenance["shortened"] = suite.shortened
        if provenance != circumstances.provenance:
            changes["circumstances"] = dataclasses.replace(circumstances, provenance=provenance)
        names = runs[key].names
        changes |= {name: text for name, text in names.items() if getattr(record, name) != text}
        if list(record.reproduces) != claims:
            changes["reproduces"] = tuple(claims)
        if changes:
            adopted.append(dataclasses.replace(record, **changes))
    store.rewrite_all(adopted)
