import math

import numpy as np
import pytest
from scipy import stats

from metrics.ranks import critical_difference, indistinguishable, ranking

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


def test_bars_join_the_largest_groups_within_the_difference():
    ranks = np.array([3.0, 1.0, 1.8, 4.6, 2.4])
    assert indistinguishable(ranks, 1.0) == [(1, 2), (2, 4), (4, 0)]
    assert indistinguishable(ranks, 1.5) == [(1, 2, 4), (2, 4, 0)]
    assert indistinguishable(ranks, 0.1) == []
    assert indistinguishable(ranks, 9.0) == [(1, 2, 4, 0, 3)]
