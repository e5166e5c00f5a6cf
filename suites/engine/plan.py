"""Which runs a command has to carry out, and which are finished."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from suites.engine.execute import Task
from suites.engine.grid import Evaluation, Run, Suite, after_each_fit, grouped
from suites.engine.provenance import now
from suites.engine.record import Record, newest, to_json
from suites.engine.rescore import rescore
from suites.engine.store import Store


@dataclass(frozen=True)
class Plan:
    """Every run of a suite, and the tasks that are left."""

    runs: tuple[Run, ...]
    tasks: tuple[Task, ...]

    @property
    def left(self) -> int:
        """How many runs are to be carried out."""
        return sum(len(task.runs) for task in self.tasks)


def plan(suite: Suite, store: Store, device: str, fresh: bool) -> Plan:
    """Return the plan, having brought the finished runs' records up to the suite.

    A run is finished if it was completed or diverged under every condition of the suite;
    one that failed is tried again. Raises `Damaged` for a record that cannot be read.
    """
    runs = {run.key: run for run in suite.runs()}
    records = {record.key: record for record in store.records()}
    finished = {} if fresh else _finished(suite, runs, records)
    current = {record.key for record in newest(records.values())}
    for key, record in finished.items():
        _adopt(suite, runs[key], record, key in current, store)
    if finished:
        scored = chain.from_iterable(_scored(suite, run) for run in runs.values())
        metrics = {evaluation.condition.name: evaluation.metrics for evaluation in scored}
        rescore(store, metrics, finished.keys())
    unfinished = (run for key, run in runs.items() if key not in finished)
    left = grouped(unfinished, suite.fitted_together)
    tasks = [Task(together, suite.evaluations, device, suite.reproduces) for together in left]
    return Plan(tuple(runs.values()), tuple(tasks))


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


def _adopt(suite: Suite, run: Run, record: Record, current: bool, store: Store) -> None:
    """Give a finished run the label and claims that the suite makes now.

    Where other settings were tried later under the same label, this run is chosen again.
    """
    adopted = dataclasses.replace(
        record,
        method=run.label,
        reproduces=tuple(dataclasses.asdict(claim) for claim in suite.reproduces),
    )
    if not current:
        chosen = dict(record.provenance) | {"chosen": now()}
        adopted = dataclasses.replace(adopted, provenance=chosen)
    if to_json(adopted) != to_json(record):
        store.rewrite(adopted)
