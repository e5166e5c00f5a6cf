"""Runs whose methods differ only in settings of prediction are fitted once."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
import torch

from bnnbench.commands.planning.plan import plan
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run, grouped
from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.store import Store
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.source_code import method_digest
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read
from bnnbench.suites import uci
from bnnbench.suites.check.small import small
from tests.contracts.test_every_method import MISSING, PROBLEMS, covered
from tests.methods.problems import stream
from tests.suites.fakes import Line, Together

SHARING = [name for name, path in METHODS.items() if hasattr(method_type(path), "from_fit")]
CASE = Case(Line(rows=60), (Linear(5), ReLU(), Linear(1)))
IVON = Ivon(epochs=8, draws=4)
EVALUATIONS = (Evaluation(Clean(), ("rmse", "log_likelihood")),)


def runs(method=IVON, label="IVON", seeds=2, **settings):
    run = Run("miniature", "quick", label, CASE, method, fold=0, seed=0, **settings)
    return [replace(run, seed=seed) for seed in range(seeds)]


OF_CIBER: list[dict[str, object]] = [
    {"prediction": "iterates"},
    {"bounds": "minmax", "ratio": 2.45, "floor_range": "scored"},
]
OTHERS: dict[str, list[dict[str, object]]] = {
    "ciber": OF_CIBER,
    "ciber_by_grid": OF_CIBER,
    "one_descent": [{"gaussian": True}],
    "moment_approximation": [{"propagation": "ap1"}],
    "sigmoids_as_bernoulli": [{"propagation": "ap1"}],
}
"""Settings of predictions other than the number of draws."""
ONLY_OF_NUMBERS = ("one_descent",)
"""Methods whose settings in `OTHERS` are for regressions."""


@pytest.mark.parametrize("name", [name for name in SHARING if name not in MISSING])
def test_the_posterior_of_a_shared_fit_predicts_as_one_of_its_own(name):
    first = small(method_type(METHODS[name])())
    for kind in covered(name):
        if name in ONLY_OF_NUMBERS and "regression" not in kind:
            continue
        problem = PROBLEMS[kind](0)
        fitted = first.fit(problem, stream(1))
        for settings in OTHERS.get(name, [{"draws": 2}, {"draws": 7}]):
            other = replace(first, **settings)
            own, shared = other.fit(problem, stream(1)), other.from_fit(fitted)
            inputs = problem.train.inputs
            one, two = (posterior.predict(inputs, stream(3)) for posterior in (own, shared))
            assert type(one) is type(two)
            assert all(torch.equal(vars(one)[key], vars(two)[key]) for key in vars(one))


def test_ivon_mfvi_and_ciber_share_their_fits():
    assert {"ivon", "mfvi", "ciber"} <= set(SHARING)


def test_runs_of_one_fit_are_in_one_group_and_others_are_not():
    at_mean = runs(replace(IVON, draws=0), "IVON@mean")
    longer = runs(replace(IVON, epochs=9), "longer")
    groups = grouped(iter([*runs(), *longer, *at_mean]), size=20)
    assert [[(r.label, r.seed) for r in group] for group in groups] == [
        [("IVON", 0), ("IVON", 1), ("IVON@mean", 0), ("IVON@mean", 1)],
        [("longer", 0), ("longer", 1)],
    ]


def test_a_group_holds_so_many_fits_however_many_runs_share_them():
    at_mean = runs(replace(IVON, draws=0), "IVON@mean", seeds=3)
    groups = grouped(iter([*runs(seeds=3), *at_mean]), size=2)
    assert [[(r.label, r.seed) for r in group] for group in groups] == [
        [("IVON", 0), ("IVON", 1), ("IVON@mean", 0), ("IVON@mean", 1)],
        [("IVON", 2), ("IVON@mean", 2)],
    ]


def test_a_shared_fit_gives_what_each_would_have_alone_and_is_charged_to_both_in_full():
    at_mean = runs(replace(IVON, draws=0), "IVON@mean")
    together = [o.record for o in execute(Task((*runs(), *at_mean), EVALUATIONS))]
    alone = [o.record for run in (*runs(), *at_mean) for o in execute(Task((run,), EVALUATIONS))]
    assert [r.outcome.scores for r in together] == [r.outcome.scores for r in alone]
    assert together[0].outcome.scores != together[2].outcome.scores
    for first, second in zip(together[:2], together[2:], strict=True):
        assert second.cost.fit_of == first.key
        assert first.cost.fit_of is None
        assert second.cost.fit_seconds == first.cost.fit_seconds > 0
        assert (
            second.cost.work
            == first.cost.work
            == {"gradient_rows": 8 * first.circumstances.facts["train_rows"]}
        )
        assert second.cost.fitted_together == first.cost.fitted_together == 2
        assert second.circumstances.fitted_sha256 == first.circumstances.fitted_sha256
        assert from_json(to_json(second)) == second


@dataclass(frozen=True)
class Fails(Together):
    """A method that shares fits, none of which succeeds."""

    of_predictions: ClassVar = ("draws",)
    fits: ClassVar[list[int]] = []
    draws: int = 1

    def fit_many(self, problems, rngs):
        self.fits.append(len(problems))
        raise ArithmeticError("no luck")

    def from_fit(self, posterior):
        raise AssertionError


def test_a_failure_of_a_shared_fit_belongs_to_all_its_runs():
    both = (*runs(Fails(), seeds=1), *runs(Fails(draws=2), "other", seeds=1))
    found = [o.record for o in execute(Task(both, EVALUATIONS))]
    assert [r.outcome.status for r in found] == ["failed", "failed"]
    assert all("no luck" in r.outcome.error for r in found)
    assert Fails.fits == [1]


@dataclass(frozen=True)
class Picky(Together):
    """A method that shares fits, and cannot use all of them."""

    of_predictions: ClassVar = ("draws",)
    draws: int = field(default=1)

    def from_fit(self, posterior):
        raise ArithmeticError("not from this one")


def test_a_failure_after_a_shared_fit_belongs_to_its_own_run():
    both = (*runs(Picky(), seeds=1), *runs(Picky(draws=2), "other", seeds=1))
    first, second = (o.record for o in execute(Task(both, EVALUATIONS)))
    assert first.outcome.status == "completed"
    assert "not from this one" in second.outcome.error


def test_a_report_counts_a_shared_fit_once_and_says_so(tmp_path):
    at_mean = runs(replace(IVON, draws=0), "IVON@mean")
    store = Store(tmp_path)
    outcomes = execute(Task((*runs(), *at_mean), EVALUATIONS))
    for outcome in outcomes:
        store.write(outcome.record, outcome.predictions)
    (part,) = content(read(tmp_path)).parts
    once = sum(o.record.cost.fit_seconds for o in outcomes[:2])
    assert part.fit_seconds == pytest.approx(once)
    assert part.shared_fits == [
        "IVON@mean predicts with the fits of IVON, whose cost counts for both."
    ]


def test_a_report_names_all_methods_of_a_shared_fit_in_one_sentence(tmp_path):
    at_mean = runs(replace(IVON, draws=0), "IVON@mean")
    of_two = runs(replace(IVON, draws=2), "IVON, two draws")
    store = Store(tmp_path)
    for outcome in execute(Task((*runs(), *of_two, *at_mean), EVALUATIONS)):
        store.write(outcome.record, outcome.predictions)
    (part,) = content(read(tmp_path)).parts
    assert part.shared_fits == [
        "IVON@mean and IVON, two draws predict with the fits of IVON, whose cost counts for each."
    ]


def test_each_of_them_has_the_digest_of_its_own_code(tmp_path):
    suite = uci.SUITES["paper_002_quoted"]
    tasks = plan(replace(suite, cases=suite.cases[:1], folds=1), Store(tmp_path), "cpu").tasks
    task = max(tasks, key=lambda task: len({run.label for run in task.runs}))
    digests = {run.label: task.code(run).sha256 for run in task.runs}
    assert digests == {run.label: method_digest(run.method) for run in task.runs}
    assert len(set(digests.values())) > 1
