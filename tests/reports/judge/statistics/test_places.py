"""Places that tests leave open: by hand, against brute force, and beside the elimination."""

from itertools import permutations

import numpy as np
import pytest

from bnnbench.reports.judge.over_sets.flips import adjusted, adjusted_pairs
from bnnbench.reports.judge.statistics.elimination import (
    Errors,
    eliminated,
    limits_behind_best,
    worse_p,
)
from bnnbench.reports.judge.statistics.shaffer import consequences, open_places, worse_pairs


def errors_of(seed, methods=7, spread=1.0):
    """Return differences of random means, with errors of their own for every pair."""
    rng = np.random.default_rng(seed)
    means = np.sort(rng.normal(size=methods)) * spread
    squared = rng.uniform(0.01, 0.4, (methods, methods))
    return Errors(means[:, None] - means, (squared + squared.T) / 2, np.full(squared.shape, 9.0))


def possible_places(shown):
    """Return the first and last place of each method in all orders that agree with `shown`."""
    count = len(shown)
    found = [
        [order.index(m) + 1 for m in range(count)]
        for order in permutations(range(count))
        if all(order.index(i) > order.index(j) for i, j in zip(*np.nonzero(shown), strict=True))
    ]
    return np.array(found).min(0), np.array(found).max(0)


def test_a_place_is_every_rank_that_agrees_with_what_is_shown():
    shown = np.zeros((5, 5), bool)
    for i, j in ((1, 0), (2, 1), (3, 0), (4, 3)):
        shown[i, j] = True
    worse = shown.any(1)
    found = open_places(worse, np.where(shown, 0.01, 1.0), 0.05)
    first, last = possible_places(consequences(shown))
    assert found[:, 0].tolist() == first.tolist()
    assert found[:, 1].tolist() == last.tolist()


def test_who_is_not_called_worse_keeps_the_first_place_whatever_its_pairs_say():
    pairs = np.where(np.eye(3), 1.0, 1e-9)
    found = open_places(np.array([False, False, True]), pairs, 0.05)
    assert found[:, 0].tolist() == [1, 1, 3]


def test_a_method_that_is_called_worse_without_any_pair_has_at_best_the_second_place():
    found = open_places(np.array([False, False, True]), np.ones((3, 3)), 0.05)
    assert found.tolist() == [[1, 3], [1, 3], [2, 3]]


def test_the_only_method_that_is_not_worse_has_the_first_place():
    found = open_places(np.array([False, True, True]), np.ones((3, 3)), 0.05)
    assert found.tolist() == [[1, 1], [2, 3], [2, 3]]


@pytest.mark.parametrize("seed", range(20))
def test_places_and_elimination_agree_on_who_is_worse(seed):
    errors = errors_of(seed, spread=0.5 + seed / 5)
    p = worse_p(errors)
    called = eliminated(p) <= 0.05
    pairs = worse_pairs(p)
    found = open_places(called, pairs, 0.05)
    assert ((found[:, 0] > 1) == called).all()
    assert (found[:, 0] <= found[:, 1]).all()
    assert (pairs >= p).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_lower_limit_is_above_zero_exactly_for_the_methods_that_are_worse(seed):
    errors = errors_of(seed, spread=0.5 + seed / 5)
    called = eliminated(worse_p(errors)) <= 0.05
    low, high = limits_behind_best(errors, 0, 0.05)
    assert ((low > 0) == called).all()
    assert (low[1:] < errors.mean[1:, 0]).all()
    assert (high[1:] > errors.mean[1:, 0]).all()


def test_limits_of_two_methods_are_those_of_a_paired_t_at_half_the_level():
    errors = Errors(np.array([[0, -2.0], [2.0, 0]]), np.full((2, 2), 0.25), np.full((2, 2), 4.0))
    low, high = limits_behind_best(errors, 0, 0.05)
    assert (low[1], high[1]) == pytest.approx((2 - 2.776445 * 0.5, 2 + 2.776445 * 0.5), abs=1e-5)


def test_pairs_have_the_direction_of_their_means():
    pairs = worse_pairs(worse_p(errors_of(3, spread=5.0)))
    assert (pairs[np.triu_indices(7)] == 1).all()  # the means are in ascending order
    assert (pairs < 0.05).any()


@pytest.mark.parametrize("seed", range(4))
def test_pairs_over_data_sets_are_compared_with_the_largest_statistic_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(5, 9)) - 0.8 * np.arange(5)[:, None]
    d = y[:, None] - y
    r = d.sum(2) / np.maximum(np.linalg.norm(d, axis=2), 1e-30)
    flips = 1 - 2 * (np.arange(2**8)[:, None] >> np.arange(9) & 1)
    unit = [(y[i] - y[j]) / np.linalg.norm(y[i] - y[j]) for i in range(5) for j in range(i)]
    null, found = np.abs(flips @ np.array(unit).T).max(1), adjusted_pairs(y)
    for better, worse in permutations(range(5), 2):
        expected = np.mean(null >= r[better, worse] - 1e-9)
        assert found[worse, better] == pytest.approx(expected)
    assert adjusted(y).min() == pytest.approx(found.min())  # the first step
