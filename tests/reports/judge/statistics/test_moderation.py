"""Robustly moderated variances, against the vectors of the specification."""

import numpy as np
import pytest
from scipy import special

from bnnbench.reports.judge.statistics.moderation import (
    differences,
    inverse_trigamma,
    level,
    moderated,
    residual_variances,
    winsorised_moments,
)
from tests.reports.judge.vectors import SET_A

SPREAD = np.array([0.2, 0.5, 1, 1.2, 2, 3, 4, 6, 9, 400])


@pytest.mark.parametrize(
    ("methods", "freedom", "mean", "variance"),
    [
        (6, 2, -0.1457643325, 1.275196878),
        (10, 2, -0.07412899960, 1.426355136),
        (15, 2, -0.07749254199, 1.418435410),
        (25, 4, -0.04395105712, 0.5535604744),
    ],
)
def test_moments_of_winsorised_logarithms(methods, freedom, mean, variance):
    found = winsorised_moments(methods, freedom)
    assert found == pytest.approx((mean, variance), rel=1e-9)


@pytest.mark.parametrize("methods", [6, 15])
def test_moments_of_winsorised_logarithms_agree_with_draws(methods):
    freedom, keep = 4, (methods - np.ceil(methods / 10)) / (methods + 1)
    draws = np.random.default_rng(0).chisquare(freedom, 400_000) / freedom
    draws = np.minimum(draws, np.quantile(draws, keep))
    offset = np.log(freedom / 2) - special.digamma(freedom / 2)
    expected = np.log(draws).mean() + offset, np.log(draws).var()
    assert winsorised_moments(methods, freedom) == pytest.approx(expected, abs=6e-3)


@pytest.mark.parametrize(
    ("freedom", "variances", "last", "of_nine", "of_last"),
    [
        (
            2,
            (
                2.505438711,
                2.605438711,
                2.772105378,
                2.838772045,
                3.105438711,
                3.438772045,
                3.772105378,
                4.438772045,
                5.438772045,
            ),
            394.9501066,
            6.0,
            2.025811384,
        ),
        (
            4,
            (
                0.6336849048,
                0.8571922269,
                1.22970443,
                1.378709312,
                1.974728837,
                2.719753244,
                3.464777651,
                4.954826465,
                7.189899685,
            ),
            350.5074891,
            5.368951625,
            4.567889543,
        ),
    ],
)
def test_one_wild_variance_is_left_alone_and_the_others_are_pooled(
    freedom, variances, last, of_nine, of_last
):
    found, degrees = moderated(SPREAD, freedom)
    assert found == pytest.approx([*variances, last], rel=1e-9)
    assert degrees == pytest.approx([*[of_nine] * 9, of_last], rel=1e-9)


def test_variances_without_excess_are_pooled_as_far_as_the_cap():
    spread = np.array([0.7, 0.9, 1, 1.1, 1.2, 1.3, 0.8, 1, 0.95, 60])
    found, degrees = moderated(spread, 4)
    assert degrees == pytest.approx([*[12.0] * 9, 4.0030004337], rel=1e-9)
    assert found[[0, -1]] == pytest.approx([1.1627443947, 59.9560721841], rel=1e-9)


def test_residual_variances_of_set_a():
    assert residual_variances(SET_A) == pytest.approx(
        [1.484365415e-4, 3.165090060e-5, 1.215590211e-4, 3.729352670e-5, 3.064545129e-5,
         1.264419311e-5, 6.785798312e-4, 7.295655384e-5, 8.848776300e-5, 2.077653761e-4],
        rel=1e-9,
    )  # fmt: skip
    found, degrees = moderated(residual_variances(SET_A), 2)
    assert degrees == pytest.approx([6.0] * 10)
    assert found == pytest.approx(
        [1.371695950e-4, 9.824104807e-5, 1.282104216e-4, 1.001219234e-4, 9.790589830e-5,
         9.190547891e-5, 3.138840249e-4, 1.120095992e-4, 1.171866689e-4, 1.569458732e-4],
        rel=1e-9,
    )  # fmt: skip


def test_variances_of_pairs_of_set_a():
    found = differences(SET_A)
    assert found.variance[0, 1:] == pytest.approx(
        [2.354106431e-4, 2.653800166e-4, 2.372915185e-4, 2.359944539e-4, 2.290750739e-4,
         5.816691387e-4, 2.491791942e-4, 2.543562639e-4, 2.941154683e-4],
        rel=1e-9,
    )  # fmt: skip
    assert found.freedom[0, 1:] == pytest.approx(
        [11.68058966, 11.98633889, 11.71445183, 11.67431404, 11.54907969, 10.40318691,
         11.87889181, 11.92638908, 11.94598983],
        rel=1e-9,
    )  # fmt: skip
    assert found.variance[3, 6] == pytest.approx(4.380548374e-4, rel=1e-9)
    assert found.freedom[3, 6] == pytest.approx(9.474237431, rel=1e-9)
    assert found.variance[1, 2] == pytest.approx(2.264514696e-4, rel=1e-9)
    assert found.freedom[1, 2] == pytest.approx(11.79344032, rel=1e-9)


@pytest.mark.parametrize("shape", [(5, 3), (15, 10)])
def test_few_methods_and_many_runs_have_the_usual_paired_variance(shape):
    scores = np.random.default_rng(0).normal(size=shape)
    found = differences(scores)
    for i in range(shape[0]):
        for j in range(shape[0]):
            assert found.variance[i, j] == pytest.approx((scores[i] - scores[j]).var(ddof=1))
    assert (found.freedom == shape[1] - 1).all()


def test_a_method_without_residual_makes_the_column_plain():
    scores = np.random.default_rng(0).normal(size=(7, 3))
    scores[6] = np.median(scores[:6] - scores[:6].mean(1, keepdims=True), axis=0) + 1
    found = differences(scores)
    assert (found.freedom == 2).all()


@pytest.mark.parametrize("value", [1e-6, 0.1, 1.0, 30.0])
def test_the_trigamma_function_is_inverted(value):
    assert special.polygamma(1, inverse_trigamma(value)) == pytest.approx(value)


def test_the_level_is_lower_where_the_prior_is_uncertain():
    assert [level(m, 3) for m in (5, 6, 11, 12)] == [0.05, 0.02, 0.02, 0.05]
    assert level(8, 10) == 0.05
