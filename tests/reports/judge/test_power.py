"""Power and least detectable differences: against quadrature, and by simulation."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from bnnbench.reports.judge.pairwise import all_pairs
from bnnbench.reports.judge.power import minimum_detectable_difference, power


def by_quadrature(noncentrality, freedom, level):
    """Return P(|T| > c), T = (Z + noncentrality) / sqrt(V / freedom), over the density of V."""
    critical = stats.t.isf(level / 2, freedom)

    def beyond(v):
        reach = critical * math.sqrt(v / freedom)
        outside = stats.norm.sf(reach - noncentrality) + stats.norm.cdf(-reach - noncentrality)
        return outside * stats.chi2.pdf(v, freedom)

    ends = [0, *stats.chi2.ppf([0.01, 0.5, 0.99], freedom), np.inf]
    pairs = itertools.pairwise(ends)
    return sum(integrate.quad(beyond, low, high, epsabs=1e-12)[0] for low, high in pairs)


@pytest.mark.parametrize("count", [3, 5, 20])
@pytest.mark.parametrize("level", [0.05, 0.05 / 190])
@pytest.mark.parametrize("effect", [0.1, 1.0, 4.0])
def test_power_is_that_of_the_noncentral_t(count, level, effect):
    expected = by_quadrature(effect * math.sqrt(count), count - 1, level)
    assert power(effect, 1.0, count, 0.0, level) == pytest.approx(expected, rel=1e-6)


def test_a_known_value_of_the_tables_of_cohen():
    """34 pairs find half a standard deviation with power 0.8 (Cohen 1988; G*Power)."""
    assert power(0.5, 1.0, 34) == pytest.approx(0.8078, abs=5e-4)
    assert power(0.5, 1.0, 33) < 0.8 < power(0.5, 1.0, 34)


def test_no_difference_is_found_as_often_as_the_level_says():
    assert power(0.0, 1.0, 7, 1 / 9, 0.01) == pytest.approx(0.01)
    assert power(0.0, 0.0, 7) == 0
    assert power(0.1, 0.0, 7) == 1


@pytest.mark.parametrize("count", [2, 3, 10, 40])
@pytest.mark.parametrize("level", [0.05, 0.05 / 190])
def test_the_least_detectable_difference_has_the_power_that_was_asked_for(count, level):
    least = minimum_detectable_difference(0.3, count, 1 / 9, level)
    reach = 0.3 * math.sqrt(1 / count + 1 / 9)
    assert by_quadrature(least / reach, count - 1, level) == pytest.approx(0.8, abs=1e-5)


def test_many_pairs_detect_what_the_normal_distribution_says():
    quantiles = mpmath.sqrt(2) * (mpmath.erfinv(0.95) + mpmath.erfinv(0.6))
    least = minimum_detectable_difference(2.0, 10_000)
    assert least == pytest.approx(float(2 * quantiles / 100), rel=1e-3)


def test_one_difference_detects_nothing():
    assert math.isnan(minimum_detectable_difference(1.0, 1))
    assert math.isnan(minimum_detectable_difference(math.nan, 5))


@pytest.mark.parametrize(("splits", "ratio"), [(5, 0.0), (20, 0.0), (20, 1 / 9), (5, 1 / 4)])
def test_a_planted_difference_is_found_as_often_as_theory_says(splits, ratio):
    """Independent seeds, and splits that correlate as the correction takes them to."""
    rng, runs, correlation = np.random.default_rng(splits), 20_000, ratio / (1 + ratio)
    # The differences have variance 1, of which the correction sees the part within.
    within = math.sqrt(1 - correlation)
    least = minimum_detectable_difference(within, splits, ratio)
    common = math.sqrt(correlation) * rng.normal(size=(runs, 1))
    gaps = least + common + within * rng.normal(size=(runs, splits))
    values = np.stack([gaps, np.zeros_like(gaps)], 1)[..., None]
    found = all_pairs(values, np.ones(values.shape, bool), ratio).adjusted[:, 0, 1] <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=3 * math.sqrt(0.8 * 0.2 / runs))


@pytest.mark.parametrize("freedom", [2.3, 9.7, 40.3, 80.1, 300.0])
@pytest.mark.parametrize("level", [0.05, 0.05 / 36, 0.05 / 1000])
def test_freedom_of_moderated_variances_needs_not_be_whole(freedom, level):
    """The difference that is found has the power asked for, by simulation of the statistic."""
    found = minimum_detectable_difference(1.0, 4, level=level, freedom=freedom)
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(200_000) + found * math.sqrt(4)
    t = normal / np.sqrt(rng.chisquare(round(freedom, 1), 200_000) / round(freedom, 1))
    hits = np.abs(t) > stats.t.isf(level / 2, round(freedom, 1))
    assert hits.mean() == pytest.approx(0.8, abs=0.005)
