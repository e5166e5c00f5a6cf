import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from bnnbench.metrics.statistics import holm, summary, wilcoxon

DIFFERENCES = np.array([0.21, 0.05, -0.04, 0.2, 0.15, 0.1, 0.09, -0.06, 0.16, 0.14])


def ten_digits(*numbers):
    return pytest.approx(numbers, abs=6e-11, rel=0)


def test_the_summary_of_the_specified_values():
    values = np.array([3.1, 2.9, 3.4, 3.0, 3.3, 2.8, 3.2, 3.05, 2.95, 3.15])
    of = summary(values)
    assert (of.mean, of.std, of.standard_error) == ten_digits(3.085, 0.1841647813, 0.0582380174)
    assert of.count == 10


def test_one_value_has_no_standard_error():
    assert math.isnan(summary(np.array([3.0])).standard_error)
    assert summary(np.array([3.0])).mean == 3
    sure = summary(np.array([3.0, -math.inf]))
    assert sure.mean == -math.inf
    assert math.isnan(sure.std)


def test_the_specified_signed_rank_test():
    assert wilcoxon(DIFFERENCES) == ten_digits(4, 0.013671875)


@settings(max_examples=30)
@given(some.integers(0, 2**31), some.integers(1, 10))
def test_wilcoxon_counts_the_signs_that_are_at_least_as_extreme(seed, count):
    differences = np.random.default_rng(seed).normal(0.3, size=count)
    ranks = stats.rankdata(np.abs(differences))
    signs = np.array(list(itertools.product((False, True), repeat=count)))
    lesser = [min(ranks[s].sum(), ranks[~s].sum()) for s in signs]
    statistic = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    expected = np.mean(np.array(lesser) <= statistic)
    padded = np.concatenate([differences, np.zeros(2)])
    assert wilcoxon(padded) == pytest.approx((statistic, expected))


def test_wilcoxon_of_no_difference_finds_none():
    assert wilcoxon(np.zeros(3)) == (0, 1)
    assert wilcoxon(np.zeros(0)) == (0, 1)


def test_wilcoxon_of_ties_is_a_normal_approximation():
    # Ranks 2, 2, 2, 4.5, 4.5 with signs + + - + +: 2 against 13, with mean 7.5.
    variance = 5 * 6 * 11 / 24 - (3**3 - 3 + 2**3 - 2) / 48
    expected = 2 * stats.norm.cdf((2 - 7.5) / math.sqrt(variance))
    found = wilcoxon(np.array([1.0, 1.0, -1.0, 2.0, 2.0]))
    assert found == pytest.approx((2, expected))


def test_a_test_at_its_centre_has_p_value_1():
    assert wilcoxon(np.array([1.0, -2.0, -3.0, 4.0])) == (5, 1)
    assert wilcoxon(np.array([1.0, -1.0])) == (1.5, 1)


def test_holm_adjusts_as_specified_and_keeps_the_order():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm(np.array([0.9, 0.6, 0.004])), [1, 1, 0.012])


@given(some.lists(some.floats(0, 1), min_size=1, max_size=8))
def test_holm_equals_its_definition(p_values):
    ordered, m = sorted(p_values), len(p_values)
    adjusted = [max(min(1, (m - j) * ordered[j]) for j in range(i + 1)) for i in range(m)]
    assert sorted(holm(np.array(p_values))) == pytest.approx(adjusted)
