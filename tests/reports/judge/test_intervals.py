import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.intervals import (
    bca_interval,
    mean_interval,
    percentile_interval,
    t_interval,
)


def _values(count: int) -> np.ndarray:
    return np.random.default_rng(0).exponential(size=count)


@pytest.mark.parametrize(
    ("count", "kind"), [(2, "t"), (9, "t"), (10, "percentile"), (19, "percentile"), (20, "bca")]
)
def test_the_number_of_values_decides_the_interval(count, kind):
    interval = mean_interval(_values(count), "splits")
    assert interval.kind == kind
    assert interval.resampled == "splits"
    assert interval.low < _values(count).mean() < interval.high


def test_the_t_interval_agrees_with_scipy():
    values = _values(7)
    expected = stats.t.interval(0.9, 6, values.mean(), stats.sem(values))
    assert t_interval(values, 0.9) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("interval", "method"), [(percentile_interval, "percentile"), (bca_interval, "BCa")]
)
@pytest.mark.parametrize("count", [20, 200])
def test_bootstrap_intervals_agree_with_scipy(interval, method, count):
    values = _values(count)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=40_000, method=method, random_state=1
    ).confidence_interval
    # 10000 resamples place a 2.5 % point within about 4 % of a standard error.
    slack = 0.12 * stats.sem(values)
    assert interval(values) == pytest.approx(tuple(expected), abs=slack)


def test_the_correction_moves_the_interval_of_skewed_values_to_their_tail():
    values = _values(30)
    percentile, corrected = percentile_interval(values), bca_interval(values)
    assert corrected[0] > percentile[0]
    assert corrected[1] > percentile[1]


def test_intervals_are_the_same_on_every_call():
    assert mean_interval(_values(25), "points") == mean_interval(_values(25), "points")
    assert mean_interval(_values(25), "points") != mean_interval(_values(25), "points", seed=1)


def test_values_without_spread_have_an_interval_without_width():
    for count in (5, 15, 25):
        interval = mean_interval(np.full(count, 0.3), "splits")
        assert (interval.low, interval.high) == pytest.approx((0.3, 0.3))


def test_one_value_has_no_interval():
    interval = mean_interval(np.array([1.0]), "splits")
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_many_points_are_resampled_in_batches():
    values = _values(3000)
    half_width = 1.96 * stats.sem(values)
    low, high = percentile_interval(values)
    assert (high - low) / 2 == pytest.approx(half_width, rel=0.05)
