"""Estimates from a pilot, for methods whose time follows a known law."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from bnnbench.commands.planning import within_limit
from bnnbench.commands.planning.cuts import Cut, Fixed
from bnnbench.commands.planning.kept_plan import KeptPlan
from bnnbench.commands.planning.pace import Pace
from bnnbench.commands.planning.pilot import ROWS, pilot
from bnnbench.commands.planning.search_work import work_of
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.own.table import own_table
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.records.cost import Cost as Taken
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.workers.base import Lost
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.gp.exact import GaussianProcess
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.tuning.method import Tuned
from tests.commands.planning.test_budget import record
from tests.commands.running.test_sandboxing import Guest
from tests.records import changed

BASE = record()
METHODS = {
    "Mean": Marginal(),
    "AdamW": AdamW(batch_size=32),
    "GP": GaussianProcess(),
    "MC dropout": McDropout(training=AdamW(batch_size=32)),
    "PBP": Pbp(),
}
RATES = {
    "Mean": (1e-9, 0.0, 0.0),
    "AdamW": (1e-6, 1e-5, 1e-4),
    "GP": (1e-5, 0.0, 0.0),
    "MC dropout": (2e-6, 2e-5, 3e-4),
    "PBP": (1e-6, 0.0, 0.0),
}


@dataclass
class Lawful:
    """An executor that runs nothing: costs are rates times work."""

    broken: str = ""
    """Label of a method whose process dies."""
    rows: int = 0
    """Largest number of training rows that a task had."""
    confined: dict[str, set[Sandbox | None]] = field(default_factory=lambda: defaultdict(set))
    """Label of a method → the sandboxes of its tasks."""

    def map(self, tasks, watcher) -> Iterator[tuple[Task, list[RunResult] | Lost]]:
        for task in tasks:
            (label,) = {run.label for run in task.runs}
            self.confined[label].add(task.sandbox)
            data = task.runs[0].source.load(0)
            self.rows = max(self.rows, len(data.train))
            work = work_of(task.runs[0].method, data.likelihood, len(data.train), len(task.runs))
            each = float(np.dot(RATES[label], work)) / len(task.runs)
            cost = Taken(9.0, 9.0, 100.0, fit_cpu_seconds=0.75 * each, predict_cpu_seconds=each / 4)
            outcomes = [RunResult(changed(BASE, cost=cost), None) for _ in task.runs]
            yield task, Lost("died") if label == self.broken else outcomes


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    file = tmp_path_factory.mktemp("pilot") / "table.csv"
    rng = np.random.default_rng(0)
    np.savetxt(file, rng.normal(size=(600, 4)), delimiter=",", header="a,b,c,y", comments="")
    return Suite(
        "own",
        "own",
        (Case(own_table(str(file), "y"), mlp([50], 1)),),
        {n: Tuned(m, 16, updates=1500, halving=True) for n, m in METHODS.items()},
        (Evaluation(Clean(), ("rmse",)),),
        folds=5,
        fitted_together=5,
    )


def truth(suite, label, rows, together):
    likelihood = suite.cases[0].source.load(0).likelihood
    work = work_of(suite.methods[label], likelihood, rows, together)
    return float(np.dot(RATES[label], work)) / together


@pytest.mark.parametrize("label", METHODS)
def test_a_pilot_finds_the_law_of_a_method_on_more_rows_and_splits(suite, label):
    executor = Lawful()
    found = pilot(suite, "cpu", executor)
    assert executor.rows == ROWS
    for rows, together in ((540, 5), (1800, 3), (540, 1)):
        expected = truth(suite, label, rows, together)
        assert found.seconds(label, suite.methods[label], rows, together) == pytest.approx(
            expected, rel=1e-3
        )


def test_the_pilots_of_third_party_methods_alone_are_confined(suite):
    executor = Lawful()
    guests = replace(suite, methods={"Mean": Guest(), "PBP": suite.methods["PBP"]})
    pilot(guests, "cpu", executor, Sandbox(("data",)))
    assert executor.confined == {"Mean": {Sandbox(("data",))}, "PBP": {None}}


def test_a_method_whose_pilot_died_is_taken_for_the_median(suite):
    found = pilot(suite, "cpu", Lawful("PBP"))
    assert "PBP" not in found.rates
    work = work_of(suite.methods["PBP"], found.likelihood, 540, 5)
    at_rates_of = [float(np.dot(one.seconds, work)) / 5 for one in found.rates.values()]
    slower, faster = sorted(at_rates_of)[1:3]
    expected = (slower + faster) / 2
    assert slower != faster
    assert found.seconds("PBP", suite.methods["PBP"], 540, 5) == pytest.approx(expected)


def test_the_time_of_a_suite_is_that_of_its_tasks_on_its_workers(suite):
    found = pilot(suite, "cpu", Lawful())
    pace = Pace(rows=540, all_rows=600, workers=2, minutes=3)
    tasks = {label: 5 * truth(suite, label, 540, 5) for label in METHODS}
    longest = max(tasks.values())
    last = max(truth(suite, label, 600, 1) for label in METHODS)
    expected = max(longest, sum(tasks.values()) / 2) + last
    assert pace.seconds(suite, found) == pytest.approx(expected, rel=0.05)
    assert pace.seconds(replace(suite, folds=3), found) < pace.seconds(suite, found)
    assert pace.limit(replace(found, taken=0.0)) == 150
    assert replace(pace, minutes=None).limit(found) == math.inf
    assert pace.cut(suite, found, Fixed()) == Cut()
    late = replace(found, taken=2 * 150.0)  # the pilot took all the time of both workers
    assert pace.limit(late) == 0
    assert pace.cut(suite, late, Fixed()).splits == 3


def test_a_suite_that_exceeds_what_the_pilot_has_left_of_the_limit_is_said_to(suite):
    found = pilot(suite, "cpu", Lawful())
    pace = Pace(rows=540, all_rows=600, workers=2, minutes=3)
    seconds = pace.seconds(suite, found)
    lines: list[str] = []
    for left in (1.1, 0.9):  # of the seconds of its fits
        plan = KeptPlan(Cut(), replace(found, taken=2 * (150 - left * seconds)))
        within_limit._tell(suite, plan, pace, lines.append)
    assert len(lines) == 1
    assert "more than --minutes allows" in lines[0]
