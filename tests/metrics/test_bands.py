import numpy as np
import pytest
from scipy import stats

from bnnbench.metrics.bands import consistency_band


def test_a_single_interval_holds_at_least_its_mass_of_the_binomial_and_no_narrower_one_does():
    (low,), (high,) = consistency_band(np.array([0.3]), np.array([40.0]))
    law = stats.binom(40, 0.3)
    below, above = round(low * 40), round(high * 40)
    assert law.cdf(above) - law.cdf(below - 1) >= 0.95
    assert law.cdf(below) > 0.025
    assert law.sf(above - 1) > 0.025


@pytest.mark.parametrize("count", [20, 200, 5000])
def test_all_shares_of_independent_bins_lie_inside_at_once(count):
    rng = np.random.default_rng(count)
    chances = np.linspace(0.05, 0.95, 15)
    low, high = consistency_band(chances, np.full(15, float(count)))
    shares = rng.binomial(count, chances, size=(20_000, 15)) / count
    inside = ((low <= shares) & (shares <= high)).all(1).mean()
    assert 0.945 <= inside <= 0.995


@pytest.mark.parametrize("count", [50, 1000])
def test_the_curve_of_uniform_targets_lies_inside_at_once(count):
    rng = np.random.default_rng(count)
    levels = np.arange(1, 10) / 10
    low, high = consistency_band(levels, np.full(9, float(count)))
    reached = rng.random((4000, count, 1))
    shares = np.stack([(reached <= level).mean((1, 2)) for level in levels], 1)
    inside = ((low <= shares) & (shares <= high)).all(1).mean()
    assert inside >= 0.95 - 0.01


def test_bins_without_points_have_the_whole_range_and_certain_ones_none():
    low, high = consistency_band(np.array([np.nan, 0.0, 1.0, 0.5]), np.array([0.0, 9, 9, 0.5]))
    assert low.tolist() == [0, 0, 1, 0]
    assert high.tolist() == [1, 0, 1, 1]


def test_more_points_make_a_narrower_band():
    widths = [np.ptp(consistency_band(np.array([0.4]), np.array([n]))) for n in (20.0, 200.0, 2e5)]
    assert widths[0] > widths[1] > widths[2]
