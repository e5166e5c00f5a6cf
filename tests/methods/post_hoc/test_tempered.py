"""Temperatures, compared with logistic regression; ranks and accuracy stay the same."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.temperature import (
    TemperedPosterior,
    best_temperature,
    mixture_log_probs,
    tempered,
)
from tests.methods.problems import classification, regression, stream

QUICK = AdamW(epochs=3, batch_size=8)


def test_two_classes_give_the_slope_of_a_logistic_regression_without_intercept():
    rng = stream(0)
    logits = 3 * torch.randn(400, 1, generator=rng, dtype=torch.float64)
    targets = (torch.rand(400, 1, generator=rng) < (0.4 * logits).sigmoid()).long()[:, 0]
    fit = LogisticRegression(C=math.inf, fit_intercept=False, tol=1e-10).fit(logits, targets)
    log_probs = torch.cat([-logits / 2, logits / 2], 1).log_softmax(1)
    found = best_temperature(log_probs, targets)
    assert 1 / found == pytest.approx(float(fit.coef_[0, 0]), rel=1e-4)


def test_a_known_temperature_is_found_again():
    rng = stream(1)
    honest = (2 * torch.randn(20_000, 5, generator=rng, dtype=torch.float64)).log_softmax(1)
    targets = torch.multinomial(honest.exp(), 1, generator=rng)[:, 0]
    for temperature in (0.25, 1.0, 4.0):
        sharp = (honest / temperature).log_softmax(1)
        assert best_temperature(sharp, targets) == pytest.approx(1 / temperature, rel=0.03)


def test_impossible_classes_are_left_out_of_the_choice():
    log_probs = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.3, 0.7, 0.0]]).log().double()
    targets = torch.tensor([0, 0, 1])
    impossible = torch.cat([log_probs, log_probs[:1]]), torch.tensor([0, 0, 1, 2])
    assert best_temperature(*impossible) == best_temperature(log_probs, targets)
    assert best_temperature(log_probs, torch.tensor([2, 2, 2])) == 1.0


@pytest.mark.parametrize("method", [QUICK, Ensemble(2, QUICK)], ids=["point", "ensemble"])
def test_the_fit_to_all_rows_agrees_with_the_unwrapped_method(method):
    problem = classification(rows=60)
    alone, scaled = (m.fit(problem, stream(3)) for m in (method, Tempered(method)))
    assert isinstance(scaled, TemperedPosterior)
    inputs = problem.train.inputs
    before, after = (mixture_log_probs(p, inputs, stream(4)) for p in (alone, scaled))
    torch.testing.assert_close(after, tempered(before, scaled.temperature))
    assert torch.equal(before.argmax(1), after.argmax(1))
    assert scaled.diagnostics["temperature"] == scaled.temperature


def test_rows_that_choose_the_temperature_were_not_fitted():
    """A table of the training rows is certain about them only; held-out rows show this."""
    posterior = Tempered(Memory()).fit(classification(rows=200), stream(0))
    assert isinstance(posterior, TemperedPosterior)
    assert posterior.temperature > 5


@dataclass(frozen=True)
class Memory:
    """Nearest neighbour with near certainty."""

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return _Remembered(problem.train.inputs, problem.train.targets)


@dataclass(frozen=True)
class _Remembered:
    inputs: torch.Tensor
    targets: torch.Tensor

    diagnostics: ClassVar = {}

    def predict(self, inputs, rng):
        nearest = self.targets[torch.cdist(inputs, self.inputs).argmin(1)]
        sure = torch.nn.functional.one_hot(nearest, 3) * 20.0
        return CategoricalPredictive(sure.log_softmax(1)[None])


@dataclass(frozen=True)
class _Diverges:
    def fit(self, problem, rng):
        raise InferenceDiverged("far away")


def test_failures_say_where():
    with pytest.raises(InferenceDiverged, match="without a fifth of the rows: far away"):
        Tempered(_Diverges()).fit(classification(), stream(0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(Unsupported, match="Tempered needed classes"):
        Tempered(QUICK).fit(regression(), stream(0))


def test_a_tempered_method_can_be_tuned():
    problem = classification(rows=60)
    tuned = Tuned(Tempered(QUICK), trials=2, blocks=1, lengths=(1, 2))
    assert "chosen_method.learning_rate" in tuned.fit(problem, stream(0)).diagnostics
