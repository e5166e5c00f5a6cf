"""Guaranteed coverage, by simulation, and thresholds computed by hand."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.post_hoc import scores
from bnnbench.methods.post_hoc.conformal import Conformal, quantile_of_scores
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.methods.problems import stream

ROWS, NEW, REPEATS = 95, 200, 300


@dataclass(frozen=True)
class Wrong:
    """A fixed prediction with a wrong spread; standardised by its training targets."""

    sharpness: float = 3.0

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        std = (1 + inputs[:, :1].abs()) / self.sharpness
        return GaussianPredictive(inputs[None, :, :1], std.square()[None])


@dataclass(frozen=True)
class WrongClasses(Wrong):
    def predict(self, inputs, rng):
        return CategoricalPredictive((self.sharpness * inputs[:, :3]).log_softmax(1)[None])


def real(rng, rows):
    inputs = torch.randn(rows, 2, generator=rng)
    noise = (0.3 + inputs[:, :1].abs()) * torch.randn(rows, 1, generator=rng)
    return Split(inputs, inputs[:, :1] + noise)


def classes(rng, rows):
    inputs = torch.randn(rows, 3, generator=rng)
    return Split(inputs, torch.multinomial(inputs.softmax(1), 1, generator=rng)[:, 0])


@pytest.mark.long
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("score", scores.INTERVAL_SCORES)
def test_intervals_hold_the_stated_share_of_new_targets(score, level):
    rng, held = stream(0), []
    for _ in range(REPEATS):
        problem = Problem(real(rng, ROWS), Gaussian(), ())
        posterior = Conformal(Wrong(), level, intervals=score).fit(problem, rng)  # pyright: ignore[reportArgumentType]
        new = real(rng, NEW)
        low, high = posterior.predict(new.inputs, rng).interval(level)
        held.append(float(((low <= new.targets) & (new.targets <= high)).double().mean()))
    assert_share(held, level, calibration_rows=ROWS // 5)


@pytest.mark.long
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("score", scores.CLASS_SCORES)
def test_sets_hold_the_stated_share_of_new_targets(score, level):
    rng, held = stream(1), []
    for _ in range(REPEATS):
        problem = Problem(classes(rng, ROWS), Categorical(3), ())
        posterior = Conformal(WrongClasses(), level, classes=score).fit(problem, rng)  # pyright: ignore[reportArgumentType]
        new = classes(rng, NEW)
        members = posterior.predict(new.inputs, rng).members
        held.append(float(members.gather(1, new.targets[:, None]).double().mean()))
    # The last class always has the score 1: ties, because of which sets are larger.
    assert_share(held, level, calibration_rows=ROWS // 5, ties=score == "aps")


def assert_share(held, level, calibration_rows, ties=False):
    """Without ties, coverage has a Beta distribution with mean ⌈(n + 1) level⌉ / (n + 1)."""
    rank = math.ceil((calibration_rows + 1) * level)
    promised = stats.beta(rank, calibration_rows + 1 - rank)
    error = np.std(held, ddof=1) / len(held) ** 0.5
    if ties:
        assert np.mean(held) > promised.mean() - 4 * error
        return
    assert abs(np.mean(held) - promised.mean()) < 4 * error
    sampling = promised.var() + promised.mean() * (1 - promised.mean()) / NEW
    assert np.var(held, ddof=1) == pytest.approx(sampling, rel=0.35)


def test_the_threshold_is_the_rank_of_the_theorem():
    found = torch.tensor([[4.0], [1.0], [3.0], [2.0]], dtype=torch.float64)
    assert quantile_of_scores(found, 0.5).item() == 3.0  # ⌈5 · 0.5⌉ = 3
    assert quantile_of_scores(found, 0.8).item() == 4.0
    assert quantile_of_scores(found, 0.81).item() == math.inf


def test_too_few_rows_for_the_level_give_everything():
    rng = stream(2)
    problem = Problem(real(rng, 20), Gaussian(), ())
    low, high = (
        Conformal(Wrong(), 0.9).fit(problem, rng).predict(torch.zeros(1, 2), rng).interval(0.9)
    )  # pyright: ignore[reportArgumentType]
    assert (low.item(), high.item()) == (-math.inf, math.inf)
    problem = Problem(classes(rng, 20), Categorical(3), ())
    members = (
        Conformal(WrongClasses(), 0.9).fit(problem, rng).predict(torch.zeros(1, 3), rng).members
    )  # pyright: ignore[reportArgumentType]
    assert members.all()


def test_scores_of_classes_by_hand():
    probabilities = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], dtype=torch.float64)
    prediction = CategoricalPredictive(probabilities.log()[None])
    torch.testing.assert_close(
        scores.of_classes("aps", prediction),
        torch.tensor([[1.0, 0.5, 0.8], [0.6, 1.0, 0.9]], dtype=torch.float64),
    )
    torch.testing.assert_close(scores.of_classes("probability", prediction), 1 - probabilities)


@pytest.mark.parametrize("name", scores.INTERVAL_SCORES)
def test_an_interval_is_where_the_score_is_within_the_threshold(name):
    rng = stream(3)
    means = torch.randn(4, 6, 1, generator=rng, dtype=torch.float64)
    prediction = GaussianPredictive(means, 0.1 + means.square())
    threshold = torch.tensor([0.7], dtype=torch.float64)
    low, high = scores.interval(name, prediction, 0.8, threshold)
    for end in (low, high):
        at_end = scores.of_targets(name, prediction, end, 0.8)
        torch.testing.assert_close(at_end, threshold.expand_as(at_end))


def test_an_interval_does_not_turn_around():
    prediction = GaussianPredictive(torch.zeros(1, 2, 1), torch.ones(1, 2, 1))
    low, high = scores.interval("quantiles", prediction, 0.8, torch.tensor([-9.0]).double())
    assert torch.equal(low, high)
    assert not low.any()


@pytest.mark.parametrize("level", [1.0, 0.0, 90.0])
def test_other_levels_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        Conformal(level=level)


@pytest.mark.parametrize("rows", [9, 49, 99, 199, 999])
def test_ranks_are_those_of_exact_fractions(rows):
    values = torch.arange(1, rows + 1).double()[:, None]
    for hundredth in range(1, 100):
        expected = -(-(rows + 1) * hundredth // 100)
        found = quantile_of_scores(values, hundredth / 100).item()
        assert found == (expected if expected <= rows else math.inf)
