"""Bayesian optimisation of settings. Truth: quadrature, and minima that are known."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from bnnbench.methods.fitting.expected_improvement import Range, expected_improvement, minimise
from bnnbench.suites.check.fits import global_generators
from tests.methods.problems import stream

RANGES = {"rate": Range(1e-5, 1e-1, log=True), "momentum": Range(0.0, 1.0)}


def bowl(settings) -> float:
    """A function whose least value is 0 at rate 1e-2 and momentum 0.7."""
    return math.log10(settings["rate"] / 1e-2) ** 2 + 4 * (settings["momentum"] - 0.7) ** 2


def search(objective=bowl, trials=16, seed=0, ceiling=10.0):
    return minimise(objective, RANGES, trials, stream(seed), ceiling)


def test_the_search_finds_a_minimum_that_random_trials_miss():
    best = search(trials=30)[0]
    rng = np.random.default_rng(0)
    at_random = [
        min(bowl({"rate": 10 ** rng.uniform(-5, -1), "momentum": rng.uniform()}) for _ in range(30))
        for _ in range(200)
    ]
    assert best.loss == bowl(best.settings)
    assert best.loss < np.quantile(at_random, 0.02)


def test_trials_lie_in_their_ranges_and_come_best_first():
    trials = search()
    assert len(trials) == 16
    assert [trial.loss for trial in trials] == sorted(trial.loss for trial in trials)
    for trial in trials:
        assert 1e-5 <= trial.settings["rate"] <= 1e-1
        assert 0 <= trial.settings["momentum"] <= 1


def test_the_first_trials_are_even_in_the_logarithm():
    rates = [t.settings["rate"] for seed in range(20) for t in search(trials=10, seed=seed)]
    below = sum(rate < 1e-3 for rate in rates)  # half of the range in logarithms, 1 % otherwise
    assert abs(below - 100) < 4 * math.sqrt(50)


def test_equal_streams_give_equal_trials_and_others_do_not():
    assert search(trials=12) == search(trials=12)
    assert search(trials=12) != search(trials=12, seed=1)


def test_a_trial_that_explodes_or_fails_is_last_and_does_not_mislead_the_others():
    def cliff(settings):
        if settings["momentum"] > 0.8:
            return math.nan if settings["rate"] > 1e-3 else 1e300
        return bowl(settings)

    trials = search(cliff, trials=30)
    assert trials[0].loss < 0.05
    assert all(trial.loss in (math.inf, 1e300) for trial in trials if trial.loss > 100)
    assert trials[-1].loss in (math.inf, 1e300)


def test_generators_and_threads_are_left_as_they_were():
    before = global_generators()
    threads = torch.get_num_threads()
    search(trials=12)
    assert global_generators() == before
    assert torch.get_num_threads() == threads


def test_the_search_says_nothing(capfd):
    search(trials=12)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("mean", "std"), [(0.3, 0.5), (-1.0, 0.2), (2.0, 0.7), (0.0, 1e-3)])
def test_the_expected_improvement_is_the_integral_over_losses_below_the_lowest(mean, std):
    lowest = 0.1
    start = min(mean, lowest) - 12 * std
    truth = quad(lambda f: (lowest - f) * norm.pdf(f, mean, std), start, lowest, points=[mean])[0]
    value = expected_improvement(np.array([mean]), np.array([std]), lowest)
    assert value.tolist() == pytest.approx([truth], rel=1e-7)


@pytest.mark.parametrize(
    ("span", "values"),
    [(Range(1e-4, 1.0, log=True), (1e-4, 1e-2, 1.0)), (Range(-1, 3), (-1, 1, 3))],
)
def test_positions_are_even_in_a_range_or_in_its_logarithm(span, values):
    assert [span.at(place) for place in (0.0, 0.5, 1.0)] == pytest.approx(values)


def test_equal_losses_give_no_direction_and_no_error():
    assert len(search(lambda settings: 1.0, trials=12)) == 12


@pytest.mark.long
def test_a_search_gains_from_its_model_whatever_the_number_of_settings():
    ranges = {str(k): Range(0, 1) for k in range(4)}
    middle = np.array([0.2, 0.5, 0.8, 0.35])

    def distance(settings) -> float:
        return float(np.square(np.array(list(settings.values())) - middle).sum())

    best = [minimise(distance, ranges, 30, stream(seed), 10.0)[0].loss for seed in range(5)]
    assert np.median(best) < 0.01  # 0.07 with random trials
