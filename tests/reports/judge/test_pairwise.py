"""All pairs of methods: against loops over single tests, and by simulation with known effects."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from bnnbench.metrics.statistics import corrected_resampled_t, holm, paired_t
from bnnbench.reports.judge.pairwise import all_pairs

LEVEL = 0.05


def whole(values, ratio=0.0):
    return all_pairs(values, np.ones(values.shape, bool), ratio)


def rate(claims):
    return claims.mean()


def bound(simulations):
    """Return the level and three of its standard errors: less than 6 % from 4,300 simulations."""
    return LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / simulations)


def test_seeds_of_one_fold_are_tested_one_pair_at_a_time():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 1, 7)) + np.arange(4)[:, None, None] / 3
    found, pairs = whole(values), list(itertools.combinations(range(4), 2))
    raw = [stats.ttest_rel(values[i, 0], values[j, 0]).pvalue for i, j in pairs]
    assert [found.p_value[pair] for pair in pairs] == pytest.approx(raw)
    assert [found.adjusted[pair] for pair in pairs] == pytest.approx(holm(np.array(raw)))
    assert int(found.tests) == 6
    np.testing.assert_array_equal(found.adjusted, found.adjusted.T)
    np.testing.assert_allclose(found.mean, -found.mean.T)


def test_folds_count_by_their_means_over_common_seeds_and_are_corrected():
    rng = np.random.default_rng(1)
    values, present = rng.normal(size=(2, 6, 3)), rng.random((2, 6, 3)) < 0.8
    values[~present] = np.nan
    found = all_pairs(values, present, 1 / 9)
    both = present.all(0)
    gaps = [
        (values[0, fold] - values[1, fold])[both[fold]].mean()
        for fold in range(6)
        if both[fold].any()
    ]
    expected = corrected_resampled_t(np.array(gaps), 1 / 9)
    assert found.count[0, 1] == len(gaps)
    assert found.mean[0, 1] == pytest.approx(np.mean(gaps))
    assert found.std[0, 1] == pytest.approx(np.std(gaps, ddof=1))
    assert found.p_value[0, 1] == pytest.approx(expected.p_value)


def test_pairs_of_few_or_infinite_differences_are_not_tested_nor_counted():
    values = np.random.default_rng(0).normal(size=(4, 1, 5))
    present = np.ones((4, 1, 5), bool)
    present[1, 0, 2:] = False
    values[2, 0, 0] = np.inf
    found = all_pairs(values, present)
    tested = np.zeros((4, 4), bool)
    tested[0, 3] = tested[3, 0] = True
    np.testing.assert_array_equal(found.tested, tested)
    assert found.adjusted[0, 3] == found.p_value[0, 3]
    present[2, 0, 0] = False
    assert all_pairs(values, present).tested[0, 2]


def test_an_infinite_score_that_the_other_lacks_concerns_no_pair():
    values, present = np.zeros((2, 1, 5)), np.ones((2, 1, 5), bool)
    values[0, 0] = [np.inf, 1, 2, 3, 5]
    present[1, 0, 0] = False
    assert all_pairs(values, present).p_value[0, 1] == pytest.approx(
        paired_t(np.array([1.0, 2.0, 3.0, 5.0])).p_value
    )


def test_differences_without_spread_are_sure_and_equal_methods_are_not_told_apart():
    same = np.array([[1.0, 2.0, 4.0]] * 2 + [[2.0, 3.0, 5.0]])[:, None]
    found = whole(same)
    assert found.p_value[0, 1] == 1
    assert found.p_value[0, 2] == 0


def prior(variances, freedom):
    """Return d₀ and s₀² of Smyth (2004), section 6.2, by root finding."""
    shift = special.digamma(freedom / 2) - np.log(freedom / 2)
    logs = np.log(variances) - shift
    excess = logs.var(ddof=1) - special.polygamma(1, freedom / 2)
    if excess <= 1e-6:
        return math.inf, math.nan
    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, 1e7)
    return 2 * half, math.exp(logs.mean() + special.digamma(half) - math.log(half))


@pytest.mark.parametrize(("methods", "runs", "seed"), [(6, 3, 5), (9, 3, 0), (12, 5, 1)])
def test_variances_are_drawn_to_the_prior_that_fits_them(methods, runs, seed):
    rng = np.random.default_rng(seed)
    values = np.exp(np.linspace(-1, 1, methods))[:, None] * rng.normal(size=(methods, runs))
    found, pairs = whole(values[:, None]), list(itertools.combinations(range(methods), 2))
    gaps = np.array([values[i] - values[j] for i, j in pairs])
    freedom, variances = runs - 1, gaps.var(1, ddof=1)
    d0, common = prior(variances, freedom)
    assert math.isfinite(d0)
    weight = min(d0 / 2, freedom * (methods - 2))
    drawn = (weight * common + freedom * variances) / (weight + freedom)
    t = np.abs(gaps.mean(1)) / np.sqrt(drawn / runs)
    assert [found.std[p] ** 2 for p in pairs] == pytest.approx(drawn, rel=1e-8)
    assert {round(found.freedom[p], 6) for p in pairs} == {round(weight + freedom, 6)}
    expected = 2 * stats.t.sf(t, weight + freedom)
    assert [found.p_value[p] for p in pairs] == pytest.approx(expected, rel=1e-7)


SPREADS = {
    "equal": lambda k: np.ones(k),
    "one wide": lambda k: np.r_[20.0, np.ones(k - 1)],
    "by a factor of 20": lambda k: np.exp(np.linspace(-1.5, 1.5, k)),
    "two kinds": lambda k: np.r_[np.ones(k // 2), 5 * np.ones(k - k // 2)],
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("methods", [6, 9, 16])
def test_a_planted_tie_of_three_seeds_is_called_a_tie_however_methods_spread(methods, spread):
    """No pair at all may be told apart, with or without the best."""
    rng, runs = np.random.default_rng(methods), 4500
    values = SPREADS[spread](methods)[:, None, None] * rng.normal(size=(runs, methods, 1, 3))
    claims = (np.nanmin(whole(values).adjusted, (1, 2)) <= LEVEL).mean()
    assert claims <= bound(runs)


def test_three_seeds_tell_nine_methods_apart_which_single_t_tests_would_not():
    """The worst is eight standard deviations behind; its single t tests need t above 26."""
    rng, runs = np.random.default_rng(0), 1000
    values = rng.normal(size=(runs, 9, 1, 3)) - 8.0 * np.eye(9)[8][:, None, None]
    found = whole(values)
    gaps = (values[:, 0] - values[:, 8])[:, 0]
    single = stats.ttest_1samp(gaps, 0.0, axis=1).pvalue
    assert rate(found.adjusted[:, 0, 8] <= LEVEL) > 0.95
    assert rate(single * 36 <= LEVEL) < 0.3


def test_few_methods_are_compared_by_single_t_tests():
    values = np.random.default_rng(0).normal(size=(5, 1, 3))
    found = whole(values)
    assert found.freedom[0, 1] == 2
    assert found.p_value[0, 1] == pytest.approx(stats.ttest_rel(values[0, 0], values[1, 0]).pvalue)


@pytest.mark.parametrize("methods", [2, 5, 12])
@pytest.mark.parametrize("splits", [5, 20])
def test_a_planted_tie_of_independent_seeds_is_called_a_tie(methods, splits):
    """The best is chosen by the same data; no tied method may be called worse than it."""
    runs = 20_000 // methods
    values = np.random.default_rng(methods).normal(size=(runs, methods, 1, splits))
    claims = rate(of_the_best(whole(values).adjusted, values) <= LEVEL)
    assert claims <= bound(runs)
    if methods == 2:
        assert claims <= 0.06
        assert claims >= 2 * LEVEL - bound(runs)


def of_the_best(p_values, values):
    """Return the least p-value of the pairs with the best method, for every simulation."""
    best = values.mean((-1, -2)).argmin(1)
    return np.nanmin(p_values[np.arange(len(values)), best], axis=1)


def test_holm_over_the_comparisons_with_the_best_alone_would_claim_too_much():
    """The reason for adjusting over all pairs."""
    values = np.random.default_rng(0).normal(size=(2000, 12, 1, 20))
    assert rate(11 * of_the_best(whole(values).p_value, values) <= LEVEL) > 0.1


def overlapping(rng, runs, methods, splits, ratio):
    """Return scores whose differences correlate between splits as the correction takes them to."""
    correlation = ratio / (1 + ratio)
    common = math.sqrt(correlation) * rng.normal(size=(runs, methods, 1, 1))
    return common + math.sqrt(1 - correlation) * rng.normal(size=(runs, methods, splits, 1))


@pytest.mark.parametrize(("splits", "ratio"), [(20, 1 / 9), (5, 1 / 4)])
def test_a_planted_tie_over_overlapping_splits_is_called_a_tie(splits, ratio):
    runs = 10_000
    values = overlapping(np.random.default_rng(splits), runs, 2, splits, ratio)
    claims = rate(whole(values, ratio).adjusted[:, 0, 1] <= LEVEL)
    assert claims <= 0.06
    assert claims >= 2 * LEVEL - bound(runs)
    assert rate(whole(values).adjusted[:, 0, 1] <= LEVEL) > 0.12


def squared_errors(rng, runs, rows, test, splits, kind):
    """Return errors of two regressions, each on one of two equally good features.

    Real resampling: least squares on the training rows of every split, scored on its test rows,
    so that training sets overlap as they do. runs x methods x splits x 1.
    """
    features = rng.normal(size=(runs, rows, 2))
    targets = features.sum(2) + rng.normal(size=(runs, rows))
    orders = rng.permuted(np.tile(np.arange(rows), (runs, 1)), axis=1)
    scores = np.empty((runs, 2, splits, 1))
    for split in range(splits):
        if kind == "random":
            orders = rng.permuted(orders, axis=1)
            chosen = orders[:, :test]
        else:
            chosen = orders[:, split * test : (split + 1) * test]
        is_test = np.zeros((runs, rows), bool)
        np.put_along_axis(is_test, chosen, True, axis=1)
        train = ~is_test[..., None]
        products, squares = features * targets[..., None], features**2
        slopes = (products * train).sum(1) / (squares * train).sum(1)
        errors = (targets[..., None] - slopes[:, None] * features) ** 2
        scores[:, :, split, 0] = (errors * is_test[..., None]).sum(1) / test
    return scores


@pytest.mark.parametrize(
    ("kind", "splits", "rows", "test"),
    [("folds", 10, 100, 10), ("folds", 5, 60, 12), ("random", 20, 100, 10)],
)
def test_a_tie_under_real_resampling_is_called_a_tie(kind, splits, rows, test):
    """Folds of cross-validation, and random splits of 90 and 10 %."""
    values = squared_errors(np.random.default_rng(0), 10_000, rows, test, splits, kind)
    found = whole(values, test / (rows - test))
    assert rate(found.adjusted[:, 0, 1] <= LEVEL) <= 0.06


def test_missing_runs_leave_the_level_as_it_is():
    rng, runs = np.random.default_rng(0), 10_000
    values, present = rng.normal(size=(runs, 2, 8, 2)), rng.random((runs, 2, 8, 2)) < 0.85
    assert rate(all_pairs(values, present).p_value[:, 0, 1] <= LEVEL) <= 0.06
