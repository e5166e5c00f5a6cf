"""Temperatures, compared with logistic losses and a normal prior; ranks and accuracy stay."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.temperature import (
    PRIOR_PRECISION,
    TemperedPosterior,
    best_temperature,
    mixture_log_probs,
    tempered,
)
from tests.methods.problems import classification, regression, stream

QUICK = AdamW(epochs=3, batch_size=8)


def test_two_classes_give_the_slope_of_a_logistic_regression_with_a_prior():
    rng = stream(0)
    logits = 3 * torch.randn(400, 1, generator=rng, dtype=torch.float64)
    targets = (torch.rand(400, 1, generator=rng) < (0.4 * logits).sigmoid()).long()[:, 0]
    slopes = np.exp(np.linspace(math.log(1 / 20), math.log(20), 20_001))
    signed = (logits[:, 0] * (2 * targets - 1)).numpy()
    losses = sum(np.logaddexp(0, -slopes * each) for each in signed)
    posterior = losses - norm.logpdf(np.log(slopes), scale=PRIOR_PRECISION**-0.5)
    log_probs = torch.cat([-logits / 2, logits / 2], 1).log_softmax(1)
    found = best_temperature(log_probs, targets)
    assert 1 / found == pytest.approx(slopes[posterior.argmin()], rel=1e-3)


def test_rows_without_information_leave_the_temperature_at_1():
    flat = torch.full((10, 3), -math.log(3), dtype=torch.float64)
    assert best_temperature(flat, torch.arange(10) % 3) == 1.0
    assert best_temperature(flat[:0], torch.arange(0)) == 1.0


@pytest.mark.parametrize("label", [0, 1])
def test_few_rows_that_are_all_right_or_all_wrong_move_the_temperature_little(label):
    log_probs = torch.tensor([[0.6, 0.4]]).double().log().expand(5, 2)
    found = best_temperature(log_probs, torch.full((5,), label))
    assert 0.8 < found < 1.25
    assert (found > 1) == (label == 1)


@pytest.mark.parametrize("rows", [2, 4, 10, 20, 200])
@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_a_temperature_of_few_rows_costs_no_more_than_noise(rows, sharpness):
    """The expected loss is that under the distribution from which the labels are drawn."""
    rng, changes = stream(2), []
    for _ in range(100):
        honest = torch.randn(rows, 3, generator=rng, dtype=torch.float64).log_softmax(1)
        targets = torch.multinomial(honest.exp(), 1, generator=rng)[:, 0]
        temperature = best_temperature((sharpness * honest).log_softmax(1), targets)
        fresh = torch.randn(500, 3, generator=rng, dtype=torch.float64).log_softmax(1)
        plain = (sharpness * fresh).log_softmax(1)
        changes.append(float((fresh.exp() * (plain - tempered(plain, temperature))).sum(1).mean()))
    worse, error = np.mean(changes), np.std(changes) / len(changes) ** 0.5
    assert worse < max(0.005, 2 * error)
    assert worse < -0.05 or sharpness == 1.0 or rows < 10


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
