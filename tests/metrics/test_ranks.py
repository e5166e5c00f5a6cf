import math

import numpy as np
import pytest
from scipy import stats

from metrics.ranks import (
    complete_block,
    critical_difference,
    least_p_value,
    ranking,
    undivided,
    wilcoxon_holm,
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


# Demšar (2006), table 5, with the digits of the specification; from two methods to ten.
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
    # The middle one differs from the last, the first from none: no bar may pass over it.
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


def test_a_pair_is_judged_by_its_own_scores_but_for_the_adjustment():
    scores = np.random.default_rng(0).normal(size=(8, 5)) + np.arange(5) / 3
    found = wilcoxon_holm(scores)
    raw = [
        stats.wilcoxon(scores[:, i], scores[:, j]).pvalue for i in range(5) for j in range(i + 1, 5)
    ]
    ordered = sorted(raw)
    adjusted = [max(min(1, (10 - j) * ordered[j]) for j in range(i + 1)) for i in range(10)]
    assert sorted(found[np.triu_indices(5, 1)]) == pytest.approx(adjusted)
    assert (found == found.T).all()
    assert (np.diag(found) == 1).all()


def test_methods_that_failed_on_the_same_sets_are_not_told_apart_by_them():
    scores = np.array([[1.0, np.inf, np.inf]] * 7 + [[1.0, 2.0, 2.0]])
    found = wilcoxon_holm(scores)
    assert found[1, 2] == 1
    assert found[0, 1] < 0.05


@pytest.mark.parametrize("sets", [4, 6, 9])
def test_the_least_p_value_is_that_of_one_order_on_every_set(sets):
    scores = np.arange(3.0) * (1 + np.arange(sets))[:, None]
    assert wilcoxon_holm(scores).min() == pytest.approx(least_p_value(3, sets))


def test_what_lacks_most_is_left_out_until_every_method_has_every_set():
    present = np.ones((5, 4), bool)
    assert [kept.tolist() for kept in complete_block(present)] == [[0, 1, 2, 3, 4], [0, 1, 2, 3]]
    present[2, :3] = False
    assert [kept.tolist() for kept in complete_block(present)] == [[0, 1, 3, 4], [0, 1, 2, 3]]
    present[0, 1] = present[1, 1] = False
    assert [kept.tolist() for kept in complete_block(present)] == [[0, 1, 3, 4], [0, 2, 3]]
    assert [len(kept) for kept in complete_block(np.zeros((3, 2), bool))] == [3, 0]
