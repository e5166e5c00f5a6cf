"""Active learning: what is scored, measured and kept of the rounds of a run."""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from bnnbench.commands.planning.plan import plan
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.pool import ActivePool
from bnnbench.datasets.stand_ins import DigitsAsMnist
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run import packing
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.packing import unpack
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.store import Store
from bnnbench.methods.fitting.progress import report
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Flatten
from bnnbench.methods.networks.catalogue import mlp
from tests.suites.fakes import Mean
from tests.suites.pools import EVALUATIONS, POOL, RUN, Far, outcomes, rows_of, suite


def test_scores_are_in_target_units_whatever_the_rows_of_a_round():
    (outcome,) = outcomes(Mean())
    record, kept = outcome.record, unpack(outcome.predictions)
    targets = rows_of(POOL.source.table(0))[1][POOL.partition(0).test]
    assert list(kept) == [f"acquired_{count}" for count in range(4)]
    for condition, (prediction, standardised) in kept.items():
        metres = (
            record.circumstances.target["mean"]
            + record.circumstances.target["std"] * standardised[:, 0].double()
        )
        assert torch.allclose(metres, torch.from_numpy(targets), atol=1e-5)
        means = (
            record.circumstances.target["mean"]
            + record.circumstances.target["std"] * prediction.mean[:, 0]
        )
        error = float((means - metres).square().mean().sqrt())
        assert record.outcome.scores[condition]["rmse"] == pytest.approx(error, rel=1e-6)
        # All rounds are scored on the first one's scale.
        shift = record.outcome.scores[condition]["log_likelihood_standardised"]
        expected = record.outcome.scores[condition]["log_likelihood"] + math.log(
            record.circumstances.target["std"]
        )
        assert shift == pytest.approx(expected)


@dataclass(frozen=True)
class Wavering:
    """Converges while there are fewer than nine rows, and again from ten."""

    def fit(self, problem, rng):
        report(5, 10, 0.1)
        report(10, 10, 0.1)
        return Measured(float(len(problem.train) != 9), len(problem.train))


@dataclass(frozen=True)
class Measured(Far):
    converged: float = 1.0
    rows: int = 0

    @property
    def diagnostics(self):
        return {"converged": self.converged, "rows": float(self.rows)}


def test_diagnostics_are_the_last_fits_and_converged_is_the_least_of_all():
    (outcome,) = outcomes(Wavering())
    assert outcome.record.outcome.diagnostics == {"converged": 0.0, "rows": 11.0}


def test_progress_counts_the_epochs_of_all_rounds():
    heard = []
    outcomes(Wavering(), listener=lambda done, total, loss: heard.append((done, total)))
    assert heard == [(5 * k, 40) for k in range(1, 9)]


def test_the_cost_includes_all_rounds(monkeypatch):
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 1.0
            return self.now

    monkeypatch.setattr("time.perf_counter", Clock())
    (outcome,) = outcomes(Mean())
    assert outcome.record.cost.fit_seconds == 4
    assert outcome.record.cost.predict_seconds == 4 + 3  # four evaluations, three acquisitions


def test_draws_of_earlier_rounds_that_would_fill_the_disk_are_not_kept(monkeypatch):
    monkeypatch.setattr(packing, "KEPT_ROUND_BYTES", 3 * 12 * 2 * 4 - 1)
    (outcome,) = outcomes(Mean())
    assert list(unpack(outcome.predictions)) == ["acquired_3"]
    assert len(outcome.record.outcome.scores) == 4


def test_of_class_probabilities_earlier_rounds_keep_what_scores_need():
    source = ActivePool(DigitsAsMnist(), train=30, test=40, repeats=2)
    case = Case(source, (Flatten(), *mlp([4], 10)))
    run = replace(RUN, case=case, acquisition=Acquisition("bald", rounds=1, batch=5))
    run = replace(run, method=Mfvi(epochs=1, draws=2))
    names = ("accuracy", "nll", "mutual_information")
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), names),)))
    assert outcome.record.outcome.status == "completed"
    kept = unpack(outcome.predictions)
    assert [type(p).__name__ for p, _ in kept.values()] == [
        "CategoricalSummary",
        "CategoricalPredictive",
    ]
    assert len(outcome.record.outcome.acquired) == 5
    assert outcome.record.circumstances.target is None


def carry_out(planned, kept):
    for task in planned.tasks:
        for outcome in execute(task):
            kept.write(outcome.record, outcome.predictions)


def test_finished_repeats_are_skipped_and_new_metrics_scored_from_what_was_kept(tmp_path):
    kept = Store(tmp_path)
    carry_out(plan(suite(folds=2), kept, "cpu"), kept)
    again = plan(suite(), kept, "cpu")
    assert (len(again.runs), again.left) == (16, 8)
    carry_out(again, kept)
    assert plan(suite(), kept, "cpu").left == 0
    metrics = (*EVALUATIONS[0].metrics, "crps")
    more = suite(evaluations=(Evaluation(Clean(), metrics),))
    assert plan(more, kept, "cpu").left == 0
    for record in kept.records():
        assert all("crps" in scores for scores in record.outcome.scores.values())
        assert len(record.outcome.acquired) == 3


def test_rounds_whose_draws_were_not_kept_stay_without_a_new_metric(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "KEPT_ROUND_BYTES", 0)
    kept = Store(tmp_path)
    carry_out(plan(suite(folds=1), kept, "cpu"), kept)
    metrics = (*EVALUATIONS[0].metrics, "crps")
    more = suite(folds=1, evaluations=(Evaluation(Clean(), metrics),))
    for _ in range(2):
        assert plan(more, kept, "cpu").left == 0
    found = [[c for c, s in r.outcome.scores.items() if "crps" in s] for r in kept.records()]
    assert found
    assert all(conditions == ["acquired_3"] for conditions in found)
