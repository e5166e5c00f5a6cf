"""Methods with custom predictives: run, stored, scored again and reported."""

import io
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from rich.console import Console

from bnnbench.commands.report import main as report
from bnnbench.commands.running.summary import print_tables
from bnnbench.commands.terminal.failures import print_failures
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run, Suite
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.packing import unpack
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.rescoring.rescore import rescore
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.sets import IntervalPredictive, SetPredictive
from bnnbench.metrics import INTERVALS, QUANTILES, REGRESSION, SETS
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.sections.condition_tables import condition_table
from tests.suites.fakes import Coins, Line, Mean


@dataclass(frozen=True)
class Halves:
    """A third-party predictive: a mean, without a variance."""

    centre: torch.Tensor

    def __len__(self):
        return len(self.centre)

    def pack(self):
        return {"centre": self.centre.numpy()}

    @classmethod
    def unpack(cls, arrays):
        return cls(arrays["centre"])

    @property
    def mean(self):
        return self.centre

    @property
    def variance(self):
        raise CannotAnswer("its variance is not known: ask for fewer points")

    def rescaled(self, mean, std):
        return Halves(mean + std * self.centre.double())


@dataclass(frozen=True)
class Stranger:
    """A method whose posterior predicts a class of one kind."""

    kind: str
    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        zeros = torch.zeros(len(inputs), 1)
        if self.kind == "own":
            return Halves(zeros)
        if self.kind == "quantiles":
            levels = torch.tensor([0.05, 0.5, 0.95])
            return QuantilePredictive(levels, torch.tensor([-1.0, 0, 1]).expand(len(inputs), 1, 3))
        if self.kind == "interval":
            return IntervalPredictive(0.9, zeros - 1, zeros + 1)
        return SetPredictive(0.9, torch.ones(len(inputs), 2).bool())


def run_of(kind, source=None, label="label"):
    return Run("mini", "quick", label, Case(source or Line(), ()), Stranger(kind), fold=0, seed=0)


def record_of(kind, metrics, source=None):
    task = Task((run_of(kind, source),), (Evaluation(Clean(), tuple(metrics)),))
    (outcome,) = execute(task)
    assert outcome.record.outcome.status == "completed", outcome.record.outcome.error
    return outcome


def test_third_party_answers_are_scored_and_the_others_say_what_is_missing():
    outcome = record_of("own", REGRESSION)
    scores, unanswered = (
        outcome.record.outcome.scores["clean"],
        outcome.record.outcome.unanswered["clean"],
    )
    assert set(scores) == {"rmse", "mae"}
    assert set(unanswered) == set(REGRESSION) - set(scores)
    assert unanswered["log_likelihood"] == "Halves has no log_prob"
    assert unanswered["sharpness"] == "Halves has no variance"
    line = Line().load(0)
    kept, targets = unpack(outcome.predictions)["clean"]
    assert type(kept) is Halves
    expected = float((line.target.std * targets.double()).square().mean().sqrt())
    assert scores["rmse"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "answered", "missing"),
    [
        ("quantiles", {"crps", "pinball", "mae_median", "picp_90", "mpiw_90"}, "picp_50"),
        ("interval", {*INTERVALS, "picp_90", "mpiw_90"}, "crps"),
    ],
)
def test_what_states_levels_is_scored_by_what_it_states(kind, answered, missing):
    record = record_of(kind, dict.fromkeys((*REGRESSION, *QUANTILES, *INTERVALS))).record
    assert set(record.outcome.scores["clean"]) == answered
    assert missing in record.outcome.unanswered["clean"]
    std = Line().load(0).target.std
    assert record.outcome.scores["clean"]["mpiw_90"] == pytest.approx(2 * std)


def test_sets_of_classes_are_scored_by_coverage_and_size():
    record = record_of("sets", (*SETS, "accuracy"), Coins()).record
    assert record.outcome.scores["clean"] == {"set_coverage": 1.0, "set_size": 2.0}
    assert record.outcome.unanswered == {
        "clean": {"accuracy": "SetPredictive has no mixture_log_probs and no log_prob"}
    }


def test_a_condition_that_no_metric_can_score_stays_in_the_record_without_scores():
    record = record_of("sets", ("accuracy",), Coins()).record
    assert (record.outcome.status, record.outcome.scores) == ("completed", {"clean": {}})
    assert set(record.outcome.unanswered) == set(record.circumstances.condition_data) == {"clean"}


def test_a_set_of_classes_for_a_real_target_is_a_failure():
    (outcome,) = execute(Task((run_of("sets"),), (Evaluation(Clean(), SETS),)))
    assert "the data has a real target; got a SetPredictive" in outcome.record.outcome.error


def test_a_later_metric_is_scored_or_its_lack_recorded_once(tmp_path):
    store = Store(tmp_path)
    outcome = record_of("own", ("rmse",))
    store.write(outcome.record, outcome.predictions)
    assert rescore(store, {"clean": ("rmse", "mae", "crps")}) == 1
    record = store.read(outcome.record.key)
    assert set(record.outcome.scores["clean"]) == {"rmse", "mae"}
    assert record.outcome.unanswered == {"clean": {"crps": "Halves has no cdf"}}
    assert rescore(store, {"clean": ("rmse", "mae", "crps")}) == 0


@pytest.fixture
def results(tmp_path):
    """Return a store with a whole distribution and a third-party predictive."""
    store = Store(tmp_path / "mini")
    metrics = ("rmse", "crps")
    runs = run_of("own", label="Own"), replace(run_of("own", label="Mean"), method=Mean())
    for run in runs:
        (outcome,) = execute(Task((run,), (Evaluation(Clean(), metrics),)))
        store.write(outcome.record, outcome.predictions)
    suite = Suite(
        *("mini", "a suite", (Case(Line(), ()),), {"Own": Stranger("own"), "Mean": Mean()}),
        (Evaluation(Clean(), metrics),),
        profile="quick",
    )
    return store, suite


def test_a_terminal_says_not_scored_and_why(results):
    store, suite = results
    console = Console(file=io.StringIO(), width=120)
    print_tables(suite, store.current(), console)
    print_failures(store.current(), console)
    text = console.file.getvalue()
    (row,) = (line for line in text.splitlines() if line.startswith("Own"))
    assert "not scored" in row
    assert "not scored: Own on line under clean (crps): Halves has no cdf" in text


def test_a_report_says_not_scored_and_why(results):
    store, _ = results
    (benchmark,) = benchmarks(read(store.folder).records)
    table = condition_table(benchmark, "clean", ("Own", "Mean"))
    crps = [column.name for column in table.columns].index("crps")
    assert table.rows[0].cells[crps] == "not scored"
    assert table.unanswered == ("Own by CRPS: Halves has no cdf",)


@pytest.mark.long
def test_a_report_of_a_class_that_cannot_be_imported_keeps_its_scores(results, tmp_path):
    store, _ = results
    here = sys.modules.pop(__name__)
    try:
        assert report([str(store.folder), "--out", str(tmp_path / "site")]) == 0
    finally:
        sys.modules[__name__] = here
    pages = "".join(page.read_text() for page in (tmp_path / "site").rglob("*.html"))
    assert "which this process has not imported" in pages
    assert "Halves has no cdf" in pages
    rmse = next(r for r in store.current() if r.method == "Own").outcome.scores["clean"]["rmse"]
    assert np.isfinite(rmse)
