import math

import numpy as np
import pytest

from bnnbench.metrics.credible import MASSES, credible_coverage, sigma_coverage


def _networks(cdf: np.ndarray, left: int = 3, right: int = 5):
    """Return a cdf with this value at the truth at every position, and positions on both sides."""
    position = np.concatenate([np.linspace(-20, -11, left), [0.0], np.linspace(11, 20, right)])
    return np.repeat(cdf[:, None], len(position), axis=1), position


def test_masses_begin_at_one_percent_and_end_at_all():
    assert MASSES[0] == 0.01
    assert MASSES[-1] == 1.0
    assert len(MASSES) == 100


def test_networks_at_their_own_quantiles_cover_as_much_as_their_mass():
    coverage = credible_coverage(*_networks((np.arange(1000) + 0.5) / 1000))
    np.testing.assert_allclose(coverage.positive, MASSES, atol=1e-9)
    np.testing.assert_allclose(coverage.negative, MASSES, atol=1e-9)
    assert coverage.correlations == pytest.approx((1, 1, 1))
    assert coverage.biases == pytest.approx((0, 0), abs=1e-9)


def test_a_correlation_does_not_see_a_bias_but_the_distance_does():
    """Coverage p^1.5 on 0, 0.01, ..., 1: the specification's 0.98946954."""
    mass = np.arange(101) / 100
    # Network i covers from mass (i + 1/2)^(2/3) on: its cdf is half of that, below 1/2.
    start = ((np.arange(10_000) + 0.5) / 10_000) ** (2 / 3)
    coverage = credible_coverage(*_networks(0.5 - start / 2), mass)
    np.testing.assert_allclose(coverage.positive, mass**1.5, atol=1e-4)
    assert coverage.correlations[0] == pytest.approx(0.98946954, abs=1e-5)
    assert coverage.biases[0] == pytest.approx(np.abs(mass - mass**1.5).mean(), abs=1e-4)


def test_the_sides_are_told_apart():
    cdf, position = _networks((np.arange(100) + 0.5) / 100)
    cdf[:, position < 0] = 0.5
    coverage = credible_coverage(cdf, position)
    assert (coverage.negative == 1).all()
    positive, negative, both = coverage.correlations
    assert positive == pytest.approx(1, abs=1e-3)
    assert math.isnan(negative)
    assert both == pytest.approx(
        np.corrcoef(np.tile(MASSES, 2), np.concatenate([coverage.negative, coverage.positive]))[
            0, 1
        ]
    )
    assert coverage.biases == pytest.approx((0, np.mean(1 - MASSES)), abs=0.01)


def test_coverage_is_the_median_over_positions():
    cdf, position = _networks(np.full(10, 0.5), right=3)
    cdf[:, -1] = 1.0  # never inside an open interval
    cdf[:5, -2] = 0.0
    assert credible_coverage(cdf, position, np.array([0.5])).positive == 0.5


def test_sigma_intervals_have_the_stated_levels():
    cdf, position = _networks((np.arange(10_000) + 0.5) / 10_000)
    expected = [0.68, 0.95, 0.997]
    np.testing.assert_allclose(sigma_coverage(cdf, position > 10), expected, atol=1e-9)


def test_a_grid_that_stays_with_the_data_is_refused():
    with pytest.raises(ValueError, match="beyond ±10"):
        credible_coverage(np.full((3, 2), 0.5), np.array([-1.0, 1.0]))
