"""Methods that would corrupt other runs' results."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.engine.run.test_execute import outcomes
from tests.suites.fakes import Coins, Line, Together


@dataclass(frozen=True)
class Rude:
    """Changes its data or the process, as `how` says."""

    how: str

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        match self.how:
            case "zeroes training inputs":
                problem.train.inputs.flatten(1).mul_(0)
            case "zeroes training targets and raises":
                problem.train.targets.zero_()
                raise RuntimeError("a bug")
            case "exits in fit":
                raise SystemExit(5)
            case "forgets to return":
                return None
        return self

    def predict(self, inputs, rng):
        if self.how == "zeroes test inputs":
            inputs.zero_()
        if self.how == "exits in predict":
            raise SystemExit(5)
        zeros = torch.zeros(1, len(inputs), 1)
        return GaussianPredictive(zeros, zeros - 1 if self.how == "negative" else zeros + 1)


@dataclass(frozen=True)
class Few(Together):
    """Omits a problem."""

    def fit_many(self, problems, rngs):
        return super().fit_many(problems[1:], rngs[1:])


@dataclass(frozen=True)
class Logits(Rude):
    """Returns logits in place of log probabilities."""

    def predict(self, inputs, rng):
        return CategoricalPredictive(torch.ones(1, len(inputs), 2))


def tensors(data):
    return [t for split in (data.train, data.test) for t in (split.inputs, split.targets)]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("zeroes training inputs", "changed the data"),
        ("zeroes training targets and raises", "changed the data"),
        ("zeroes test inputs", "changed the data"),
        ("exits in fit", "SystemExit: 5"),
        ("exits in predict", "SystemExit: 5"),
        ("forgets to return", "needed a posterior with diagnostics and predict; got a NoneType"),
        ("negative", "negative"),
    ],
)
def test_a_method_that_misbehaves_fails_and_the_next_sees_the_data_of_the_files(how, reason):
    source = DiabetesAsUci()
    kept = source.load(0)
    before = [tensor.clone() for tensor in tensors(kept)]
    (outcome,) = outcomes(Rude(how), source)
    assert outcome.record.outcome.status == "failed"
    assert reason in outcome.record.outcome.error.splitlines()[-1]
    again = source.load(0)
    after = tensors(again)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_fit_many_that_forgets_a_problem_fails_all_of_them():
    records = [outcome.record for outcome in outcomes(Few(), Line(), folds=(0, 1, 2))]
    assert [record.outcome.status for record in records] == ["failed"] * 3
    assert "2 posteriors for 3 problems" in records[0].outcome.error


def test_logits_are_not_taken_for_log_probabilities():
    (outcome,) = outcomes(Logits(""), Coins())
    assert outcome.record.outcome.status == "failed"
    assert "sum to 5.437, not to 1: are these logits?" in outcome.record.outcome.error
