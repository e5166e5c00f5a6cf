"""Elimination and practical equality, compared with the vectors of the specification."""

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.statistics.elimination import (
    Errors,
    eliminated,
    equal_p,
    one_sided,
    witnesses,
    worse_p,
)
from bnnbench.reports.judge.statistics.moderation import differences
from bnnbench.reports.judge.statistics.shaffer import attainable, multipliers, shaffer
from tests.reports.judge.vectors import SET_A, SET_B


def errors(scores, overlap=0.0):
    found = differences(scores)
    return Errors(found.mean, found.variance * (1 / scores.shape[1] + overlap), found.freedom)


def test_p_values_and_elimination_of_set_a():
    p = worse_p(errors(SET_A))
    assert p[1:, 0] == pytest.approx(
        [9.363360707e-8, 3.419561839e-8, 1.144197311e-8, 6.275859413e-9, 4.314107478e-9,
         4.615040276e-6, 0.05073923039, 0.4220220070, 1.011596245e-10],
        rel=1e-8,
    )  # fmt: skip
    assert eliminated(p)[1:] == pytest.approx(
        [1.194559993e-6, 8.099832679e-7, 2.872266343e-7, 1.963853237e-7, 1.639972512e-7,
         5.288102376e-5, 0.3044353823, 0.8440440140, 9.104366202e-9],
        rel=1e-8,
    )  # fmt: skip


def test_practical_equality_of_set_a():
    found = equal_p(errors(SET_A), [0, 7, 8], 0, 0.03)
    assert found[[7, 8]] == pytest.approx([0.6220699272, 0.04507989887], rel=1e-9)
    assert np.delete(found, [7, 8]) == pytest.approx(1.0)


def test_set_b_with_overlapping_training_sets():
    found = errors(SET_B, 1 / 9)
    assert differences(SET_B).variance[0, 1:] == pytest.approx(
        [1.458749981e-3, 2.408898034e-3, 1.806911405e-3], rel=1e-9
    )
    p = worse_p(found)
    assert p[1:, 0] == pytest.approx([0.1946840776, 0.04080300574, 1.084971261e-10], rel=1e-8)
    assert p[3, :3] == pytest.approx([1.084971261e-10, 6.360845684e-11, 8.559734152e-11], rel=1e-8)
    assert eliminated(p)[1:] == pytest.approx(
        [0.3893681552, 2.688364924e-3, 7.633014821e-10], rel=1e-8
    )
    assert witnesses(p)[2] == 1  # not the leader
    left = [0, 1]
    assert equal_p(found, left, 0, 0.1)[1:] == pytest.approx(
        [1.472748313e-3, 0.03533115322, 0.9999999997], rel=1e-9
    )
    assert equal_p(found, left, 0, 0.06033966665)[1:] == pytest.approx(
        [0.04803364554, 0.4924956683, 0.9999999998], rel=1e-9
    )


def test_a_one_sided_p_value_is_half_of_scipys_paired_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 8))
    found = worse_p(errors(np.stack([first, second])))
    expected = stats.ttest_rel(first, second, alternative="greater").pvalue
    assert found[0, 1] == pytest.approx(expected)
    assert found[1, 0] == pytest.approx(1 - expected)


def test_differences_without_spread_are_certain():
    found = one_sided(np.array([1.0, -1.0, 0.0]), np.zeros(3), np.full(3, 2.0))
    assert found.tolist() == [0.0, 1.0, 0.5]


def test_two_methods_pay_for_two_ordered_pairs():
    p = np.array([[1.0, 0.99], [0.01, 1.0]])
    assert eliminated(p).tolist() == [1.0, 0.02]


def test_attainable_numbers_of_equalities():
    assert attainable(3) == {0, 1, 3}
    assert attainable(4) == {0, 1, 2, 3, 6}
    assert attainable(5) == {0, 1, 2, 3, 4, 6, 10}


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (3, [3, 1, 1]),
        (4, [6, 3, 3, 3, 2, 1]),
        (5, [10, 6, 6, 6, 6, 4, 4, 3, 2, 1]),
        (6, [15, 10, 10, 10, 10, 10, 7, 7, 7, 6, 4, 4, 3, 2, 1]),
    ],
)
def test_shaffers_multipliers(methods, expected):
    assert multipliers(methods) == expected


def test_shaffer_of_three_methods_by_hand():
    p = np.array([[1.0, 0.99, 0.999], [0.01, 1.0, 0.98], [0.001, 0.02, 1.0]])
    found = shaffer(p)
    # Two-sided .002, .02, .04, times 3, 1 and 1.
    assert found[2, 0] == pytest.approx(0.006)
    assert found[0, 1] == pytest.approx(0.02)
    assert found[1, 2] == pytest.approx(0.04)
    assert (found == found.T).all()


def test_the_specified_test_of_overlapping_splits():
    gaps = np.array([0.21, 0.05, -0.04, 0.2, 0.15, 0.1, 0.09, -0.06, 0.16, 0.14])
    plain, corrected = (worse_p(errors(np.stack([gaps, 0 * gaps]), r)) for r in (0, 1 / 9))
    assert 2 * plain[0, 1] == pytest.approx(0.0078041119, abs=6e-11)
    assert 2 * corrected[0, 1] == pytest.approx(0.0437416109, abs=6e-11)


def test_the_level_is_kept_where_training_sets_overlap():
    """Differences with correlation n_test/(n_test + n_train), as the correction assumes."""
    rng, overlap = np.random.default_rng(0), 1 / 9
    correlation = overlap / (1 + overlap)
    common = rng.normal(size=(2000, 1)) * np.sqrt(correlation)
    gaps = common + rng.normal(size=(2000, 20)) * np.sqrt(1 - correlation)
    p = [[worse_p(errors(np.stack([g, 0 * g]), r))[0, 1] for g in gaps] for r in (0, overlap)]
    plain, corrected = (np.array(p) < 0.05).mean(1)
    assert corrected == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 2000))
    assert plain > 0.15
