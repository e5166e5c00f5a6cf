import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.statistics.bootstrap import (
    Nested,
    between_runs,
    mean_rank_intervals,
    resampled_means,
    standardised_difference_intervals,
)


def nested(scores):
    scores = np.asarray(scores, float)
    return Nested(scores, np.ones(scores.shape[1:], bool))


def test_resampled_means_of_seeds_in_folds_have_the_variance_of_two_stages():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(1, 6, 4)) + 2 * rng.normal(size=(1, 6, 1))
    drawn = nested(scores).resampled(np.random.default_rng(1), 40_000)[:, 0]
    folds = scores[0].mean(1)
    # Var(mean of drawn folds) + E[Var(mean of drawn seeds | folds)], both plug-in estimates.
    expected = folds.var() / 6 + scores[0].var(1).mean() / 4 / 6
    assert drawn.var() == pytest.approx(expected, rel=0.04)
    assert drawn.mean() == pytest.approx(scores.mean(), abs=4 * math.sqrt(expected / 40_000))


def test_folds_and_seeds_are_drawn_for_all_methods_together():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(1, 5, 3))
    drawn = nested(np.concatenate([one, one + 2])).resampled(np.random.default_rng(1), 50)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 2)


def test_runs_that_are_absent_are_never_drawn():
    scores = np.ones((2, 3, 2))
    scores[:, 1, 1] = 1e9
    scores[:, 2] = np.nan
    present = np.array([[True, True], [True, False], [False, False]])
    of = Nested(scores, present)
    np.testing.assert_array_equal(of.means, [1, 1])
    np.testing.assert_allclose(of.resampled(np.random.default_rng(0), 100), 1)
    with pytest.raises(ValueError, match="fold and seed"):
        Nested(scores, np.zeros((3, 2), bool))


def test_a_set_that_is_drawn_twice_has_other_folds_each_time():
    same = [nested(np.random.default_rng(0).normal(size=(1, 50, 1)))] * 2
    drawn = resampled_means(same, 4000)[..., 0]
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 4 / math.sqrt(4000)


def test_a_method_that_failed_is_last_in_every_draw():
    scores = np.random.default_rng(0).normal(size=(3, 4, 1))
    scores[2] = np.inf
    found = mean_rank_intervals([nested(scores)] * 5)
    assert (found.mean[2], found.low[2], found.high[2]) == (3, 3, 3)


def test_mean_ranks_agree_with_the_means():
    rng = np.random.default_rng(0)
    sets = [nested(rng.normal(size=(4, 5, 2))) for _ in range(6)]
    means = [of.scores.mean((1, 2)) for of in sets]
    np.testing.assert_allclose(
        mean_rank_intervals(sets).mean, np.mean([stats.rankdata(m) for m in means], axis=0)
    )


def test_differences_that_are_equal_in_all_folds_have_students_interval_over_the_sets():
    folds, shifts = np.random.default_rng(0).normal(size=(1, 6, 1)), np.array([0.3, 1.0, 2.4])
    found = standardised_difference_intervals(
        [nested(np.concatenate([folds, folds + shift])) for shift in shifts], 0, draws=100_000
    )
    differences = shifts / folds.std(ddof=1)
    reach = stats.t.isf(0.025, 2) * stats.sem(differences)
    assert found.mean[1] == pytest.approx(differences.mean())
    assert found.high[1] - found.mean[1] == pytest.approx(reach, rel=0.02)


@pytest.mark.long
def test_intervals_hold_the_true_mean_rank():
    """Two methods on ten sets: one is better on a set with chance 0.7, and folds show which."""
    rng, covered, runs = np.random.default_rng(0), 0, 200
    for _ in range(runs):
        signs = np.where(rng.random((10, 1, 1, 1)) < 0.7, 1.0, -1.0)
        gaps = signs * np.array([0.0, 3.0])[:, None, None]
        scores = rng.normal(size=(10, 2, 12, 1)) + gaps
        found = mean_rank_intervals([nested(own) for own in scores], draws=100)
        covered += found.low[0] <= 1.3 <= found.high[0]
    # All ten agree in 3 % of the cases, and then nothing varies.
    assert covered / runs >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.long
@pytest.mark.parametrize("sets", [4, 10])
def test_intervals_hold_the_true_standardised_difference(sets):
    """Methods differ by 0.5 on average, with a separate difference on every set."""
    rng, covered, runs = np.random.default_rng(sets), 0, 250
    for _ in range(runs):
        found = standardised_difference_intervals(
            [_with_effect(rng, 0.5 + rng.normal()) for _ in range(sets)], reference=0, draws=100
        )
        covered += found.low[1] <= 0.5 <= found.high[1]
    assert covered / runs == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / runs))


def _with_effect(rng, effect):
    """Return folds whose standard deviation is exactly 1, the unit of the effect."""
    common = rng.normal(size=(1, 12, 1))
    common = (common - common.mean()) / common.std(ddof=1)
    return nested(np.concatenate([common, common + effect]))


def test_differences_are_in_units_of_the_spread_between_folds():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 7, 3))
    of = nested(scores)
    folds = scores.mean(2)
    scale = math.sqrt(folds.var(1, ddof=1).mean())
    assert between_runs(of) == pytest.approx(scale)
    found = standardised_difference_intervals([of, of], reference=1)
    assert found.mean == pytest.approx([(folds[0] - folds[1]).mean() / scale, 0])


def test_seeds_of_the_only_fold_are_the_runs_that_spread():
    scores = np.random.default_rng(0).normal(size=(1, 1, 9))
    assert between_runs(nested(scores)) == pytest.approx(scores.std(ddof=1))
    assert math.isnan(between_runs(nested(np.ones((2, 1, 1)))))


def test_a_scale_of_zero_or_a_failure_gives_no_number():
    same = nested(np.ones((2, 1, 3)))
    assert np.isnan(standardised_difference_intervals([same, same], 0).mean).all()
    scores = np.random.default_rng(0).normal(size=(3, 1, 4))
    scores[1] = np.inf
    found = standardised_difference_intervals([nested(scores)] * 3, 0)
    assert np.isnan([found.mean[1], found.low[1], found.high[1]]).all()
    assert np.isfinite(found.mean[[0, 2]]).all()


def test_one_set_has_no_interval():
    found = mean_rank_intervals([nested(np.random.default_rng(0).normal(size=(2, 4, 1)))])
    assert np.isnan(found.low).all()
