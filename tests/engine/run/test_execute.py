"""From runs to records."""

import math
import time
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.generated.curves import Sine
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Reproduces, Run
from bnnbench.engine.run import states
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.run.packing import unpack
from bnnbench.engine.run.task import Task
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.suites import fakes
from tests.suites.fakes import Line, Mean, Together

EVALUATIONS = (Evaluation(Clean(), ("rmse", "log_likelihood")),)
RUN = Run("miniature", "quick", "label", Case(Line(), ()), Mean(), fold=0, seed=0)


def outcomes(method, source=None, folds=(0,), seeds=(0,), architecture=()):
    run = replace(RUN, method=method, case=Case(source or Line(), architecture))
    runs = tuple(replace(run, fold=fold, seed=seed) for fold in folds for seed in seeds)
    return execute(Task(runs, EVALUATIONS, reproduces=(Reproduces("004", "1", ("one",)),)))


def test_a_record_says_which_run_it_is_and_what_came_of_it():
    (outcome,) = outcomes(Mean())
    record = outcome.record
    assert (record.key, record.run) == (RUN.key, RUN.description)
    assert (record.suite, record.profile, record.method) == ("miniature", "quick", "label")
    assert (record.dataset, record.circumstances.origin, record.fold, record.seed) == (
        "line",
        "original",
        0,
        0,
    )
    assert (record.outcome.status, record.outcome.error) == ("completed", None)
    assert record.circumstances.condition_origins == {"clean": "original"}
    assert record.circumstances.target["unit"] == "m"
    assert record.reproduces == (
        {"paper": "004", "table": "1", "departures": ("one",), "whole": True},
    )
    assert record.cost.fit_seconds > 0
    assert set(record.outcome.scores["clean"]) == {"rmse", "log_likelihood"}


def test_what_is_kept_is_what_the_scores_were_computed_from():
    (outcome,) = outcomes(Mean())
    prediction, targets = unpack(outcome.predictions)["clean"]
    target = outcome.record.circumstances.target
    metres = target["std"] * (prediction.mean - targets)
    assert outcome.record.outcome.scores["clean"]["rmse"] == pytest.approx(
        float(metres.square().mean()) ** 0.5
    )
    assert torch.equal(targets, Line().load(0).test.targets)


def test_a_group_gives_bit_for_bit_what_its_runs_give_alone():
    together = outcomes(Together(), folds=(0, 1, 2), seeds=(0, 1))
    for outcome in together:
        record = outcome.record
        (alone,) = outcomes(Together(), folds=(record.fold,), seeds=(record.seed,))
        assert alone.record.outcome.scores == record.outcome.scores
        assert alone.predictions == outcome.predictions
    assert {outcome.record.cost.fitted_together for outcome in together} == {6}


@dataclass(frozen=True)
class Drawn:
    """A posterior whose means are the first draws for the fit and for the prediction."""

    first: float
    diagnostics: ClassVar = {}

    def predict(self, inputs, rng):
        draws = torch.tensor([self.first, torch.rand(1, generator=rng).item()]).view(2, 1, 1)
        means = draws.expand(2, len(inputs), 1)
        return GaussianPredictive(means, torch.ones_like(means))


@dataclass(frozen=True)
class Drawing:
    """Returns only draws from its stream."""

    def fit(self, problem, rng):
        return Drawn(torch.rand(1, generator=rng).item())


@dataclass(frozen=True)
class Again(Clean):
    """The test split under another name."""

    name: str = field(default="again", init=False)


def test_every_fold_seed_source_and_condition_has_a_stream_of_its_own():
    evaluations = tuple(Evaluation(condition, ("rmse",)) for condition in (Clean(), Again()))
    cells = [(Line(), 0, 0), (Line(), 0, 1), (Line(), 1, 0), (Line("other"), 0, 0)]
    fits, predictions = [], []
    for source, fold, seed in cells:
        run = replace(RUN, method=Drawing(), case=Case(source, ()), fold=fold, seed=seed)
        first, again = execute(Task((run,), evaluations)), execute(Task((run,), evaluations))
        assert first[0].predictions == again[0].predictions
        for prediction, _ in unpack(first[0].predictions).values():
            fits.append(prediction.means[0, 0].item())
            predictions.append(prediction.means[1, 0].item())
    assert len(set(fits)) == len(cells)
    assert len(set(predictions)) == 2 * len(cells)
    assert not set(fits) & set(predictions)


def test_what_a_group_takes_is_shared_by_its_runs(monkeypatch):
    moments = iter((10.0, 16.0, *range(100, 200)))
    monkeypatch.setattr(time, "perf_counter", lambda: next(moments))
    costs = [outcome.record.cost for outcome in outcomes(Together(), folds=(0, 1, 2))]
    assert [cost.fit_seconds for cost in costs] == [2.0, 2.0, 2.0]
    assert [cost.predict_seconds for cost in costs] == [1.0, 1.0, 1.0]


def test_seeds_of_one_fold_share_its_rows(monkeypatch):
    seen = []

    def fit_many(self, problems, rngs):
        seen.extend(problems)
        return [fakes.fitted(*pair) for pair in zip(problems, rngs, strict=True)]

    monkeypatch.setattr(Together, "fit_many", fit_many)
    outcomes(Together(), DiabetesAsUci(), folds=(0, 1), seeds=(0, 1, 2))
    assert len(seen) == 6
    assert len({id(problem.train) for problem in seen}) == 2


def test_folds_of_unequal_size_are_not_stacked():
    records = [o.record for o in outcomes(Together(), fakes.Uneven(), folds=(0, 1), seeds=(0, 1))]
    assert [record.outcome.status for record in records] == ["completed"] * 4


def test_folds_of_unequal_noise_are_not_stacked():
    method = AdamW(epochs=1)
    found = outcomes(method, Sine(), folds=(0, 1), seeds=(0, 1), architecture=(Linear(1),))
    assert [(o.record.outcome.status, o.record.outcome.error) for o in found] == [
        ("completed", None)
    ] * 4


def test_only_the_one_that_diverges_in_a_group_diverges():
    first_inputs = [float(Line().load(fold).train.inputs[0, 0]) for fold in range(4)]
    limit = sorted(first_inputs)[2]
    records = [o.record for o in outcomes(Together(diverges_at=limit), folds=range(4))]
    for record, value in zip(records, first_inputs, strict=True):
        assert record.outcome.status == ("diverged" if value > limit else "completed")


def test_a_divergence_is_a_result_with_its_reason():
    (outcome,) = outcomes(fakes.Diverging())
    assert outcome.record.outcome.status == "diverged"
    assert outcome.record.outcome.error == "the loss became infinite in epoch 3"
    assert outcome.record.outcome.scores == {}
    assert outcome.record.circumstances.condition_origins == {"clean": "original"}
    assert outcome.predictions is None


def test_predicting_nan_is_divergence():
    (outcome,) = outcomes(fakes.Blank())
    assert outcome.record.outcome.status == "diverged"
    assert outcome.record.outcome.error == (
        "predicts NaN under the condition clean (GaussianPredictive.means)"
    )
    assert math.isfinite(outcome.record.outcome.diagnostics["centre"])


def test_a_bug_in_a_method_is_a_failure_with_its_traceback():
    (outcome,) = outcomes(fakes.Raising())
    assert outcome.record.outcome.status == "failed"
    assert outcome.record.outcome.error.splitlines()[-1] == "RuntimeError: a bug in the method"
    assert "fakes.py" in outcome.record.outcome.error


@dataclass(frozen=True)
class Short:
    """Omits a point, or returns an object that is no prediction."""

    what: str

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        zeros = torch.zeros(1, len(inputs) - 1, 1)
        return zeros if self.what == "kind" else GaussianPredictive(zeros, zeros + 1)


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("points", "7 predictions for 8 targets"),
        ("kind", "needed a prediction that has a length, pack and unpack"),
    ],
)
def test_a_wrong_prediction_is_a_failure_that_says_so(what, error):
    (outcome,) = outcomes(Short(what))
    assert outcome.record.outcome.status == "failed"
    assert error in outcome.record.outcome.error


def test_missing_data_stops_the_suite():
    with pytest.raises(DataUnavailable, match="data fetch elsewhere"):
        outcomes(Mean(), fakes.Elsewhere())


def test_the_listener_hears_of_epochs():
    heard = []
    execute(
        Task((replace(RUN, method=fakes.Slow(0.0, 3)),), EVALUATIONS), lambda *r: heard.append(r)
    )
    assert [report[:2] for report in heard] == [(1, 3), (2, 3), (3, 3)]


def test_a_lost_task_leaves_failed_records_of_every_run():
    runs = (RUN, replace(RUN, fold=1))
    records = [o.record for o in lost(Task(runs, EVALUATIONS), "killed by SIGKILL")]
    assert [record.key for record in records] == [run.key for run in runs]
    assert {(r.outcome.status, r.outcome.error) for r in records} == {
        ("failed", "killed by SIGKILL")
    }


def test_networks_that_see_one_source_share_data_and_streams_but_no_key():
    cases = (Case(Line(), (), "plain"), Case(Line(), (Linear(1),), "deep", "A deep line"))
    runs = [replace(RUN, method=Drawing(), case=case) for case in cases]
    (plain,), (deep,) = (execute(Task((run,), EVALUATIONS)) for run in runs)
    assert plain.record.key != deep.record.key
    assert plain.record.circumstances.data_sha256 == deep.record.circumstances.data_sha256
    assert plain.predictions == deep.predictions
    assert [(o.record.dataset, o.record.title) for o in (plain, deep)] == [
        ("plain", ""),
        ("deep", "A deep line"),
    ]


def test_an_interrupt_in_a_worker_is_the_error_of_the_called_code(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        states.tried(interrupted)
    monkeypatch.setattr(states, "is_worker", lambda: True)
    assert isinstance(states.tried(interrupted), KeyboardInterrupt)
