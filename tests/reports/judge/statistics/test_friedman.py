import itertools
import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.statistics.friedman import (
    complete_block,
    critical_difference,
    least_p_value,
    rank_p_values,
    ranking,
    undivided,
)

SCORES = np.array(
    [
        [0.80, 0.82, 0.79],
        [0.70, 0.75, 0.71],
        [0.90, 0.91, 0.89],
        [0.60, 0.66, 0.62],
        [0.85, 0.84, 0.83],
        [0.77, 0.80, 0.78],
    ]
)


def ten_digits(*numbers):
    return pytest.approx(numbers, abs=6e-11, rel=0)


def test_the_specified_ranking():
    result = ranking(SCORES, higher_is_better=True)
    assert tuple(result.mean_ranks) == ten_digits(2.3333333333, 1.1666666667, 2.5)
    assert result.friedman == ten_digits(6.3333333333, 0.0421438435)
    assert result.iman_davenport == ten_digits(5.5882352941, 0.0234818388)
    assert critical_difference(3, result.sets) == pytest.approx(1.3531361645, abs=6e-11)


def test_the_friedman_statistic_agrees_with_scipy():
    scores = np.random.default_rng(0).normal(size=(9, 5))
    expected = stats.friedmanchisquare(*scores.T)
    assert ranking(scores, False).friedman == pytest.approx((expected.statistic, expected.pvalue))


def test_negated_scores_in_the_other_direction_rank_alike():
    first, second = ranking(SCORES, True), ranking(-SCORES, False)
    np.testing.assert_array_equal(first.mean_ranks, second.mean_ranks)


def test_ties_share_their_ranks():
    scores = np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
    assert ranking(scores, False).mean_ranks.tolist() == [1.75, 1.75, 2.5]


def test_the_same_order_on_every_set_is_beyond_doubt():
    result = ranking(np.arange(12.0).reshape(4, 3), False)
    assert result.friedman.statistic == pytest.approx(8)
    assert result.iman_davenport == (math.inf, 0)


def test_a_missing_score_is_refused_and_never_imputed():
    scores = SCORES.copy()
    scores[2, 1] = math.nan
    with pytest.raises(ValueError, match="drop its set or its method"):
        ranking(scores, True)


@pytest.mark.parametrize("shape", [(1, 3), (4, 1)])
def test_one_set_or_one_method_cannot_be_ranked(shape):
    with pytest.raises(ValueError, match="two sets and two methods"):
        ranking(np.zeros(shape), True)


# Demšar (2006), table 5, with the digits of the specification, for two to ten methods.
TABULATED = (
    1.959964,
    2.343701,
    2.569032,
    2.727774,
    2.849705,
    2.948320,
    3.030878,
    3.101730,
    3.163684,
)


@pytest.mark.parametrize("methods", range(2, 11))
def test_critical_values_are_the_tabulated_ones(methods):
    expected = TABULATED[methods - 2] * math.sqrt(methods * (methods + 1) / (6 * 9))
    assert critical_difference(methods, 9) == pytest.approx(expected, rel=1e-6)


def within(ranks, difference):
    return undivided(ranks, np.abs(ranks[:, None] - ranks) > difference)


def test_bars_join_the_largest_groups_without_a_difference():
    ranks = np.array([3.0, 1.0, 1.8, 4.6, 2.4])
    assert within(ranks, 1.0) == [(1, 2), (2, 4), (4, 0)]
    assert within(ranks, 1.5) == [(1, 2, 4), (2, 4, 0)]
    assert within(ranks, 0.1) == []
    assert within(ranks, 9.0) == [(1, 2, 4, 0, 3)]


def test_no_bar_holds_two_methods_that_differ():
    # The middle one differs from the last, the first from none: no bar may cover it.
    different = np.zeros((3, 3), bool)
    different[1, 2] = different[2, 1] = True
    assert undivided(np.array([1.0, 2.0, 3.0]), different) == [(0, 1)]


# Demšar (2006), table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 sets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_the_numbers_of_demsar_2006():
    """Its section 3.2: mean ranks, Friedman 9.28, Iman and Davenport 3.69, CD 1.25."""
    found = ranking(DEMSAR, higher_is_better=True)
    assert found.mean_ranks.tolist() == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.friedman.statistic == pytest.approx(9.28, abs=0.02)
    assert found.iman_davenport.statistic == pytest.approx(3.69, abs=0.01)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_p_values_equal_the_definition_of_step_down():
    """By loops over flips and pairs, for 4 methods with ties on 6 sets."""
    rng = np.random.default_rng(3)
    scores = (rng.normal(size=(6, 4)) + np.array([0, 0, 1, 3])).round()
    ranks = stats.rankdata(scores, axis=1)
    pairs = list(itertools.combinations(range(4), 2))
    sums = {pair: abs((ranks[:, pair[0]] - ranks[:, pair[1]]).sum()) for pair in pairs}
    found, least = rank_p_values(scores, higher_is_better=False), 0.0
    left = sorted(pairs, key=lambda pair: -sums[pair])
    for k, pair in enumerate(left):
        above = 0
        for flip in itertools.product((1, -1), repeat=6):
            flipped = [abs(flip @ (ranks[:, i] - ranks[:, j])) for i, j in left[k:]]
            above += max(flipped) >= sums[pair]
        least = max(least, above / 64)
        assert found[pair] == found[pair[::-1]] == least
    assert (np.diag(found) == 1).all()


def test_two_methods_are_compared_by_the_sign_test():
    scores = np.array([[0.0, 1.0]] * 7 + [[1.0, 0.0]])
    expected = stats.binomtest(1, 8).pvalue
    assert rank_p_values(scores, False)[0, 1] == pytest.approx(expected)
    assert rank_p_values(-scores, True)[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("sets", [4, 6, 13])
def test_the_least_p_value_is_that_of_one_order_on_every_set(sets):
    scores = np.arange(3.0) * (1 + np.arange(sets))[:, None]
    assert rank_p_values(scores, False)[0, 2] == least_p_value(sets)


def test_random_flips_of_many_sets_agree_with_the_sign_test():
    scores = np.array([[0.0, 1.0]] * 14 + [[1.0, 0.0]] * 6)
    expected = stats.binomtest(6, 20).pvalue
    found = rank_p_values(scores, False)[0, 1]
    assert found == pytest.approx(expected, abs=4 * math.sqrt(expected / 8192))


def bracketed(rng):
    """Two equal methods: on each set, one is far ahead of all others and the other far behind."""
    scores = 0.1 * rng.normal(size=(9, 10))
    signs = rng.choice([-1.0, 1.0], size=9)
    scores[:, 0], scores[:, 1] = 5 * signs, -5 * signs
    return scores, np.ones((10, 10), bool)


def two_groups(rng):
    """Five methods of each kind, equal within the kind."""
    better = np.arange(10) < 5
    return rng.normal(size=(9, 10)) + 2 * better, better[:, None] == better


@pytest.mark.parametrize(
    "of", [lambda rng: (rng.exponential(size=(9, 10)) ** 2, np.ones((10, 10), bool)),
           bracketed, two_groups]
)  # fmt: skip
def test_equal_methods_are_called_different_at_most_as_often_as_the_level_says(of):
    rng, runs, claims = np.random.default_rng(0), 600, 0
    for _ in range(runs):
        scores, equal = of(rng)
        claims += ((rank_p_values(scores, False) <= 0.05) & equal).any()
    assert claims / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_nemenyis_difference_would_claim_too_much():
    """The reason not to use it: ten equal methods, and 20 % false claims."""
    rng, runs, claims = np.random.default_rng(0), 300, 0
    difference = critical_difference(10, 9)
    for _ in range(runs):
        means = ranking(bracketed(rng)[0], False).mean_ranks
        claims += np.ptp(means) > difference
    assert claims / runs > 0.12


def test_a_planted_difference_over_nine_sets_is_found_more_often_than_by_nemenyi():
    rng, found, nemenyi = np.random.default_rng(0), 0.0, 0.0
    for _ in range(100):
        scores, equal = two_groups(rng)
        found += (rank_p_values(scores, False) <= 0.05)[~equal].mean() / 100
        means = ranking(scores, False).mean_ranks
        apart = np.abs(means[:, None] - means) > critical_difference(10, 9)
        nemenyi += apart[~equal].mean() / 100
    assert found > 0.55
    assert found > nemenyi + 0.1


def test_what_lacks_most_is_left_out_until_every_method_has_every_set():
    present = np.ones((5, 4), bool)
    assert [kept.tolist() for kept in complete_block(present)] == [[0, 1, 2, 3, 4], [0, 1, 2, 3]]
    present[2, :3] = False
    assert [kept.tolist() for kept in complete_block(present)] == [[0, 1, 3, 4], [0, 1, 2, 3]]
    present[0, 1] = present[1, 1] = False
    assert [kept.tolist() for kept in complete_block(present)] == [[0, 1, 3, 4], [0, 2, 3]]
    assert [len(kept) for kept in complete_block(np.zeros((3, 2), bool))] == [3, 0]
