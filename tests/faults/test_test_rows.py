"""Only its inputs tell a method about a test row."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist, PhotographCrops
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.guards.batch_dependence import TRANSDUCTIVE, UNREPEATABLE
from bnnbench.engine.run.task import Task
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.sets import IntervalPredictive
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read
from tests.reports import synthetic


@dataclass(frozen=True)
class Falling:
    """Its confidence falls with the number of the row, whatever the row is."""

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        logits = torch.zeros(1, len(inputs), 10)
        logits[..., 0] = torch.linspace(9, 0, len(inputs))
        return CategoricalPredictive(logits.log_softmax(-1))


def test_confidence_that_falls_with_the_row_detects_nothing():
    foreign = PhotographCrops(size=28, grey=True)
    run = Run("faults", "quick", "Falling", Case(DigitsAsMnist(), ()), Falling(), 0, 0)
    evaluation = Evaluation(OutOfDistribution(foreign), ("auroc_ood",))
    (outcome,) = execute(Task((run,), (evaluation,)))
    (scores,) = outcome.record.outcome.scores.values()
    assert scores["auroc_ood"] == pytest.approx(0.5, abs=0.06)


@dataclass(frozen=True)
class Companionable:
    """Predicts with statistics of the whole call, or anew each time, or each row separately."""

    manner: str

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        logits = inputs.flatten(1)[:, 200:210]
        if self.manner == "batch statistics":
            logits = (logits - logits.mean(0)) / (logits.std(0) + 1e-3)
        if self.manner == "anew":
            logits = logits * torch.rand(10)
        if self.manner == "drawn":
            logits = logits + torch.randn(4, 1, 10, generator=rng)
        return CategoricalPredictive(logits.expand(4, -1, -1).log_softmax(-1))


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        ("alone", None),
        ("drawn", None),
        ("batch statistics", TRANSDUCTIVE),
        ("anew", UNREPEATABLE),
    ],
)
def test_predictions_that_depend_on_company_are_marked(manner, reason):
    run = Run("faults", "quick", "M", Case(DigitsAsMnist(), ()), Companionable(manner), 0, 0)
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), ("accuracy",)),)))
    assert outcome.record.outcome.status == "completed"
    assert outcome.record.outcome.batch_dependence == ({"clean": reason} if reason else {})


@dataclass(frozen=True)
class Ranges(Companionable):
    """Predicts only intervals or quantiles, with or without statistics of the call."""

    kind: str = "intervals"

    def predict(self, inputs, rng):
        middle = inputs[:, :1]
        if self.manner == "batch statistics":
            middle = middle - middle.mean(0)
        if self.kind == "intervals":
            return IntervalPredictive(0.9, middle - 1, middle + 1)
        levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
        return QuantilePredictive(levels, middle[..., None] + torch.tensor([-1.0, 0.0, 1.0]))


@pytest.mark.parametrize("kind", ["intervals", "quantiles"])
@pytest.mark.parametrize(("manner", "reason"), [("alone", {}), ("batch statistics", TRANSDUCTIVE)])
def test_so_are_intervals_and_quantiles(kind, manner, reason):
    run = Run("faults", "quick", "M", Case(DiabetesAsUci(), ()), Ranges(manner, kind), 0, 0)
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), ("interval_width",)),)))
    assert outcome.record.outcome.status == "completed", outcome.record.outcome.error
    assert outcome.record.outcome.batch_dependence == ({"clean": reason} if reason else {})


def test_a_second_prediction_must_not_write_either():
    run = Run("faults", "quick", "M", Case(DiabetesAsUci(), ()), Late("alone"), 0, 0)
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), ("rmse",)),)))
    assert "changed the data" in outcome.record.outcome.error


@dataclass(frozen=True)
class Late(Companionable):
    """Differs at every call, so that all rows are predicted again, and then erases them."""

    def predict(self, inputs, rng):
        CALLS.append(len(inputs))
        if len(CALLS) > 2:
            inputs.numpy()[:] = 0
        mean = torch.rand(1, len(inputs), 1)
        return GaussianPredictive(mean, torch.ones_like(mean))


CALLS: list[int] = []


def test_every_table_names_methods_that_do_not_predict_row_by_row(tmp_path):
    record = synthetic.record("Peeker", unsteady={"clean": TRANSDUCTIVE})
    synthetic.keep(tmp_path, [record, synthetic.record("AdamW")])
    tables = content(read(tmp_path)).tables
    assert tables
    for _, table in tables:
        assert table.unsteady == (f"Peeker: {TRANSDUCTIVE} (test data)",)


def test_every_table_names_methods_whose_process_third_party_methods_shared(tmp_path):
    shared = synthetic.record("Guest", provenance={"in_process": True})
    synthetic.keep(tmp_path, [shared, synthetic.record("AdamW")])
    tables = content(read(tmp_path)).tables
    assert tables
    for _, table in tables:
        assert table.in_process == ("Guest",)
