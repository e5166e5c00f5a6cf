"""Which runs a command has to carry out, and which are finished."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from suites.engine.checkpoints import FOLDER, discard
from suites.engine.description import describe
from suites.engine.execute import Task
from suites.engine.grid import Evaluation, Run, Suite, after_each_fit, grouped
from suites.engine.record import Record, newest
from suites.engine.rescore import rescore
from suites.engine.store import Store


@dataclass(frozen=True)
class Plan:
    """Every run of a suite, and the tasks that are left."""

    runs: tuple[Run, ...]
    tasks: tuple[Task, ...]
    before: Mapping[str, object]
    """Key of a run that is to be repeated → when the record that it has was finished."""

    @property
    def left(self) -> int:
        """How many runs are to be carried out."""
        return sum(len(task.runs) for task in self.tasks)


def plan(suite: Suite, store: Store, device: str, fresh: bool, writing: bool = True) -> Plan:
    """Return the plan, having brought the finished runs' records up to the suite if `writing`.

    A run is finished if it was completed or diverged under every condition of the suite;
    one that failed is tried again. Raises `Damaged` for a record that cannot be read.
    """
    runs = {run.key: run for run in suite.runs()}
    if fresh and writing:
        discard(store.folder / FOLDER, runs)
    records = {record.key: record for record in store.records()}
    finished = {} if fresh else _finished(suite, runs, records)
    current = {record.key for record in newest(records.values())}
    if finished and writing:
        _adopt(suite, runs, finished, current, store)
        scored = chain.from_iterable(_scored(suite, run) for run in runs.values())
        metrics = {evaluation.condition.name: evaluation.metrics for evaluation in scored}
        rescore(store, metrics, finished.keys())
    unfinished = (run for key, run in runs.items() if key not in finished)
    left = grouped(unfinished, suite.fitted_together)
    settings = suite.evaluations, device, suite.reproduces, store.folder / FOLDER
    tasks = [Task(together, *settings) for together in left]
    repeated = records.keys() & runs.keys() - finished.keys()
    before = {key: records[key].provenance.get("finished") for key in repeated}
    return Plan(tuple(runs.values()), tuple(tasks), before)


def _finished(
    suite: Suite, runs: Mapping[str, Run], records: Mapping[str, Record]
) -> dict[str, Record]:
    return {
        key: records[key]
        for key, run in runs.items()
        if key in records
        and records[key].status != "failed"
        and {e.condition.name for e in _scored(suite, run)} <= records[key].condition_origins.keys()
    }


def _scored(suite: Suite, run: Run) -> list[Evaluation]:
    """Return what is scored in the course of a run."""
    return list(chain.from_iterable(after_each_fit(suite.evaluations, run.acquisition)))


def _adopt(
    suite: Suite,
    runs: Mapping[str, Run],
    finished: Mapping[str, Record],
    current: set[str],
    store: Store,
) -> None:
    """Give finished runs the labels and claims that the suite makes now.

    Where other settings were tried later under the same label, a run is chosen again.
    """
    claims = [describe(dataclasses.asdict(claim)) for claim in suite.reproduces]
    adopted = []
    for key, record in finished.items():
        changes: dict[str, object] = {}
        if key not in current:
            changes["provenance"] = dict(record.provenance) | {"chosen": store.clock.now()}
        if record.method != runs[key].label:
            changes["method"] = runs[key].label
        if list(record.reproduces) != claims:
            changes["reproduces"] = tuple(claims)
        if changes:
            adopted.append(dataclasses.replace(record, **changes))
    store.rewrite_all(adopted)
