"""Seeds and test points as crossed random effects, by vectors, loops and simulation."""

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.statistics.crossed import Crossed, over_draws, over_points
from bnnbench.reports.judge.statistics.elimination import worse_p
from tests.reports.judge.vectors import SET_C


def test_the_vector_of_the_specification():
    found = crossed(SET_C)
    both, networks = found.both(), found.these_networks()
    assert both.mean[0, 1] == pytest.approx(-0.4815480328, rel=1e-9)
    assert found.floor[0, 1] == pytest.approx(0.0657464182 / 6, rel=1e-8)
    assert found.of_seeds[0, 1] == pytest.approx(0.003675274094, rel=1e-9)
    assert networks.squared_error[0, 1] == pytest.approx(0.004231838608, rel=1e-9)
    assert networks.freedom[0, 1] == pytest.approx(5)
    assert both.squared_error[0, 1] == pytest.approx(0.004254533911, rel=1e-9)
    assert both.freedom[0, 1] == pytest.approx(1.751346213, rel=1e-9)
    p = worse_p(both)
    assert p[1, 0] == pytest.approx(0.01269320467, rel=1e-9)
    assert 2 * p[1, 0] == pytest.approx(0.0253864093, rel=1e-8)
    assert 2 * worse_p(networks)[1, 0] == pytest.approx(0.0007080295, rel=1e-6)


def crossed(*factors):
    return Crossed(factors[0].mean(2), [over_points(factor) for factor in factors])


def test_draws_of_points_give_the_error_of_a_mean_over_points():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(3, 1, 300)) + rng.normal(size=(1, 1, 300))
    counts = rng.multinomial(300, np.full(300, 1 / 300), 4000)
    draws = scores @ counts.T / 300
    found = Crossed(scores.mean(2), [over_draws(draws, 300)]).these_networks()
    expected = crossed(scores).these_networks()
    np.testing.assert_allclose(found.squared_error, expected.squared_error, rtol=0.1)
    np.testing.assert_allclose(found.freedom, expected.freedom)


@pytest.mark.parametrize(("methods", "seeds", "points"), [(4, 3, 50), (7, 12, 9)])
def test_all_pairs_at_once_are_pairs_one_by_one(methods, seeds, points):
    scores = np.random.default_rng(0).normal(size=(methods, seeds, points)).cumsum(0)
    found = crossed(scores)
    for i in range(methods):
        for j in range(methods):
            d = scores[i] - scores[j]
            rest = d - d.mean(0) - d.mean(1, keepdims=True) + d.mean()
            interaction = (rest**2).sum() / ((seeds - 1) * (points - 1))
            assert found.floor[i, j] == pytest.approx(interaction / points, abs=1e-12)
            of_points = d.mean(0).var(ddof=1) / points
            assert found.of_points[i, j] == pytest.approx(of_points, abs=1e-12)


def test_a_run_cannot_vary_less_than_its_points_make_it():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(2, 3, 400))
    scores -= scores.mean(2, keepdims=True)  # seeds close by accident
    found = crossed(scores)
    assert found.runs.variance[0, 1] == pytest.approx(0, abs=1e-20)
    assert found.of_seeds[0, 1] == pytest.approx(found.floor[0, 1] / 3)


def test_one_seed_is_the_paired_test_over_points():
    scores = np.random.default_rng(2).normal(size=(2, 1, 40))
    p = worse_p(crossed(scores).these_networks())
    expected = stats.ttest_rel(scores[0, 0], scores[1, 0], alternative="greater").pvalue
    assert p[0, 1] == pytest.approx(expected)


def test_an_auroc_adds_the_variances_of_outliers_and_inliers():
    rng = np.random.default_rng(3)
    outliers, inliers = rng.random((2, 1, 30)), rng.random((2, 1, 50))
    found = crossed(outliers, inliers).these_networks()
    parts = [(f[0, 0] - f[1, 0]).var(ddof=1) / f.shape[2] for f in (outliers, inliers)]
    assert found.squared_error[0, 1] == pytest.approx(sum(parts))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 29 + parts[1] ** 2 / 49)
    assert found.freedom[0, 1] == pytest.approx(freedom)


def test_the_squared_error_agrees_with_new_seeds_and_points():
    """Its mean over 400 draws is the variance of the mean difference over these draws."""
    rng = np.random.default_rng(4)
    means, squares = [], []
    for _ in range(400):
        of_seeds = 0.05 * rng.normal(size=(2, 5, 1))
        of_points = rng.normal(size=(2, 1, 200))
        scores = of_seeds + of_points + 0.5 * rng.normal(size=(2, 5, 200))
        found = crossed(scores).both()
        means.append(found.mean[0, 1])
        squares.append(found.squared_error[0, 1])
    assert np.mean(squares) == pytest.approx(np.var(means), rel=0.2)
