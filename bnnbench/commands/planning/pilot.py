"""A pilot of every method on a few rows, and estimates from what it took."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from bnnbench.commands.planning.search_work import Work, stacks_trials, work_of
from bnnbench.datasets.base import Dataset, Likelihood, has_images
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.engine.declare.grid import Run, Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.workers.base import Executor, Lost, Silent
from bnnbench.methods.base import Method
from bnnbench.methods.tuning.method import Tuned
from bnnbench.reports.read.devices import gpu

ROWS = 200
"""Maximum number of training rows."""

SHORTEST = 1e-6
"""Minimum seconds of a pilot, for methods that take none that a clock shows."""

Shape = tuple[int, int, int]
"""Trials, epochs and splits of a pilot."""

IN_ONE_CALL: Sequence[Shape] = ((2, 4, 1), (2, 12, 1), (16, 4, 1))
"""The pilots of a method that fits all trials in one call: as many as its work has components.

Four epochs are the fewest of any search; fewer have too few iterates for some methods."""

BY_TRIAL: Sequence[Shape] = ((2, 4, 1), (2, 12, 1), (2, 4, 3))
"""The pilots of a method that may only fit several splits in one call."""

OF_IMAGES: Sequence[Shape] = ((1, 4, 1), (1, 12, 1), (2, 4, 1))
"""The pilots for images, which are fitted one after the other and take long."""


@dataclass(frozen=True)
class Rates:
    """The time and memory of a method per unit of its work."""

    seconds: tuple[float, ...]
    """Processor seconds per unit of each component of `Work`; on a GPU, seconds of the clock."""
    bytes: float
    """Growth of memory of a run in the pilot."""


@dataclass(frozen=True)
class Pilot:
    """Rates of the methods of a suite, measured by fits to a few rows."""

    rates: Mapping[str, Rates]
    """By label; without methods whose pilot failed."""
    likelihood: Likelihood
    taken: float = 0.0
    """Seconds of all its fits; 0 of a pilot that was read from a file."""

    def seconds(self, label: str, method: Method, rows: int, together: int) -> float:
        """Return the seconds of a run, one of several that are fitted together.

        Of a method whose pilot failed, they are the median of the others, 0 if there are none.
        """
        work = work_of(method, self.likelihood, rows, together)
        rates = [self.rates[label]] if label in self.rates else list(self.rates.values())
        each = [float(np.dot(one.seconds, work)) / together for one in rates]
        return float(np.median(each)) if each else 0.0

    def bytes(self, label: str) -> float:
        """Return the memory of a run, which is mostly for the members of its stack."""
        return self.rates[label].bytes if label in self.rates else 0.0


def pilot(suite: Suite, device: str, executor: Executor, sandbox: Sandbox | None = None) -> Pilot:
    """Return the pilot of the methods of a suite with one case. Nothing is stored.

    Third-party methods are fitted in the sandbox, if there is one.
    """
    (case,) = suite.cases
    data = Limited(case.source, ROWS, ROWS).load(0)
    done: dict[str, list[tuple[Work, Sequence[Record]]]] = {label: [] for label in suite.methods}
    tasks = [
        task.confined(sandbox)
        for label in suite.methods
        for task in _tasks(suite, label, data, device)
    ]
    with closing(executor.map(iter(tasks), Silent())) as results:
        for task, result in results:
            if not isinstance(result, Lost) and (records := _completed(result)):
                first = task.runs[0]
                work = work_of(first.method, data.likelihood, len(data.train), len(task.runs))
                done[first.label].append((work, records))
    return Pilot(
        {label: _rates(pairs) for label, pairs in done.items() if pairs},
        data.likelihood,
        sum(_seconds(r) for pairs in done.values() for _, records in pairs for r in records),
    )


def _completed(outcomes: Sequence[RunResult]) -> list[Record]:
    """Return the records of fits that ended, all or none."""
    records = [outcome.record for outcome in outcomes]
    ended = all(r.cost and r.outcome.status != "failed" for r in records)
    return records if ended else []


def _rates(pairs: Sequence[tuple[Work, Sequence[Record]]]) -> Rates:
    """Return the rates that explain the pilots' times best, none of them negative."""
    work = np.array([one for one, _ in pairs])
    seconds = np.array([max(sum(map(_seconds, records)), SHORTEST) for _, records in pairs])
    scale = work.max(0)
    rates = nnls(work / scale / seconds[:, None], np.ones(len(seconds)))[0] / scale
    most = max(r.cost.peak_bytes for _, records in pairs for r in records if r.cost)
    return Rates(tuple(map(float, rates)), most)


def _seconds(record: Record) -> float:
    """Return the processor seconds of a run on a processor, else its seconds of the clock."""
    cost = record.cost
    assert cost is not None
    fit, predict = cost.fit_cpu_seconds, cost.predict_cpu_seconds
    if fit is None or predict is None or gpu(record):
        return cost.fit_seconds + cost.predict_seconds
    return fit + predict


def _tasks(suite: Suite, label: str, data: Dataset, device: str) -> Iterator[Task]:
    """Yield the pilots of a method, each a task."""
    (case,), method = suite.cases, suite.methods[label]
    few = Limited(case.source, ROWS, ROWS)
    network = suite.architecture_for(case, label)
    common: dict[str, Any] = {"own_architecture": label in suite.own_architectures}
    for version, splits in _versions(method, data, has_images(case.source)):
        runs = tuple(
            Run(
                *(suite.name, suite.profile, label, replace(case.on(few), network=network)),
                *(version, fold, 0),
                **common,
            )
            for fold in range(min(splits, case.source.folds))
        )
        yield Task(runs, suite.evaluations, device)


def _versions(method: Method, data: Dataset, images: bool) -> Iterator[tuple[Method, int]]:
    """Yield different short searches of a tuned method, each with its number of splits."""
    if not isinstance(method, Tuned):
        yield method, 1
        return
    shapes = IN_ONE_CALL if stacks_trials(method.method) else BY_TRIAL
    seen = []
    for trials, epochs, splits in OF_IMAGES if images else shapes:
        short = replace(method, trials=trials, lengths=(epochs,), halving=False)
        plan = short.plan(len(data.train), data.likelihood)
        fits = ((0, ()) if plan.is_empty else (plan.trials, plan.lengths)), splits
        if fits not in seen:
            seen.append(fits)
            yield short, splits
