"""Moments of a rectified Gaussian, and the functions that they consist of."""

import mpmath
import numpy as np
import pytest
import torch
from scipy.special import erfcx

from bnnbench.methods.pbp import independent, reference
from bnnbench.methods.pbp.kernels import layers as pbp_layers
from bnnbench.methods.pbp.kernels import moments as pbp_moments


def compiled_moments(mean, variance):
    """Return mean, variance and the derivatives mean/mean, mean/variance, variance/mean, ..."""
    columns = -(-len(mean) // 8) * 8
    work = np.ones((pbp_layers.SHARED_ROWS + pbp_layers.LAYER_ROWS, columns))
    work[pbp_layers.SUM_MEAN, : len(mean)] = mean
    work[pbp_layers.SUM_VARIANCE, : len(mean)] = variance
    padding = np.stack([np.ones(columns), np.zeros(columns)])
    pbp_layers.activate(work, pbp_layers.SHARED_ROWS, columns, padding)
    return work[pbp_layers.SHARED_ROWS :, : len(mean)].T


def reference_moments(mean, variance):
    a, v = (torch.as_tensor(np.asarray(values, float)) for values in (mean, variance))
    relu, relu_variance = independent.relu_moments(a, v)
    one, zero = torch.ones_like(a), torch.zeros_like(a)
    by_mean, by_variance = (
        independent.through_relu(a, v, relu, *seed) for seed in ((one, zero), (zero, one))
    )
    return torch.stack([relu, relu_variance, *by_mean, *by_variance], dim=1).numpy()


both = pytest.mark.parametrize("moments", [compiled_moments, reference_moments])

# The sum's mean and variance, then max(0, t) and its square by quadrature.
TABLE = [
    (0.3, 0.5, 0.4571092413, 0.2603406038, 0.6643133797, 0.2578152274, 0.3068909126, 0.4286139337),
    (0, 1, 0.3989422804, 0.3408450569, 0.5, 0.1994711402, 0.3989422804, 0.3408450569),
    (
        *(-1, 0.25, 0.004245351308, 0.001424158671, 0.02275013195),
        *(0.05399096651, 0.008297538012, 0.02229171071),
    ),
    (2, 0.1, 2.0, 0.09999999998, 0.9999999999, 1.300140934e-9, 5.079257179e-10, 0.9999999947),
    (0.001, 1e-10, 0.001, 1e-10, 1, 0, 0, 1),
]
TAILS = [
    (
        *(-3, 0.04, 4.852050175e-53, 1.277142721e-54, 3.670966199e-51),
        *(1.382677387e-49, 9.70410035e-53, 3.670966199e-51),
    ),
    (
        *(-5.98, 0.04, 6.5666084e-199, 8.755509973e-201, 9.838968332e-197),
        *(7.362837089e-195, 1.31332168e-198, 9.838968332e-197),
    ),
    (
        *(-6.2, 0.04, 1.735270827e-213, 2.232119751e-215, 2.695250081e-211),
        *(2.090987901e-209, 3.470541654e-213, 2.695250081e-211),
    ),
]


@both
@pytest.mark.parametrize("row", TABLE)
def test_they_are_those_found_by_quadrature(moments, row):
    np.testing.assert_allclose(moments(*np.array(row)[:2, None])[0], row[2:], rtol=1e-9, atol=1e-14)


@both
@pytest.mark.parametrize("row", TAILS)
def test_the_lower_tail_keeps_its_relative_accuracy(moments, row):
    np.testing.assert_allclose(moments(*np.array(row)[:2, None])[0], row[2:], rtol=1e-6)


def truth(alpha: float, variance: float) -> list[float]:
    """Return the moments and their derivatives in 80-digit arithmetic."""
    with mpmath.workdps(80):
        a, s = mpmath.mpf(alpha), mpmath.sqrt(mpmath.mpf(variance))
        p, f = mpmath.ncdf(a), mpmath.npdf(a)
        mean = a * p + f
        spread = (a * a + 1) * p + a * f - mean**2
        values = (s * mean, s**2 * spread, p, f / (2 * s), 2 * s * mean * (1 - p), p - mean * f)
        return [float(value) for value in values]


def test_the_compiled_ones_are_right_wherever_a_unit_can_be():
    rng = np.random.default_rng(0)
    alpha = np.concatenate([rng.uniform(-12, 12, 300), rng.normal(size=200), [0.0, 1e-9, -1e-9]])
    variance = 10.0 ** rng.uniform(-8, 8, len(alpha))
    found = compiled_moments(alpha * np.sqrt(variance), variance)
    # The argument itself is rounded, and the tail multiplies this by alpha squared.
    rtol = 5e-15 * (10 + alpha**2) * (1 + np.abs(alpha)) ** 2
    for row, a, v, tolerance in zip(found, alpha, variance, rtol, strict=True):
        expected = truth(a, v)
        np.testing.assert_allclose(row, expected, rtol=tolerance, atol=1e-16 * max(1, v))


@both
def test_far_from_zero_they_are_finite_and_the_unit_is_off_or_linear(moments):
    alpha = np.concatenate([-np.geomspace(30, 1e3, 60), np.geomspace(30, 1e6, 60)])
    variance = np.full_like(alpha, 0.3)
    found = moments(alpha * np.sqrt(variance), variance)
    assert np.isfinite(found).all()
    assert (found[:, 1] >= 0).all()
    assert (np.abs(found[:60]) < 1e-190).all()
    linear = np.stack([alpha * np.sqrt(variance), variance], axis=1)[60:]
    np.testing.assert_allclose(found[60:, :2], linear, rtol=1e-14)
    assert (found[60:, 2:] == [1, 0, 0, 1]).all(axis=1)[20:].all()


def test_the_mills_ratio_agrees_with_scipy():
    t = np.concatenate([np.linspace(0, 40, 5001), np.geomspace(1e-12, 1e12, 500)])
    found = np.array([pbp_moments.mills_ratio(value) for value in t])
    np.testing.assert_allclose(found, np.sqrt(np.pi / 2) * erfcx(t / np.sqrt(2)), rtol=2e-15)


def test_the_small_exponential_agrees_with_numpy():
    x = np.concatenate([np.linspace(-1, 1, 4001), np.geomspace(1e-300, 1, 500), [0.0, 30.0]])
    found = np.array([pbp_moments.expm1(value) for value in x])
    np.testing.assert_allclose(found, np.expm1(x), rtol=5e-16)


@pytest.mark.parametrize(
    ("update", "rtol"), [(pbp_moments.gamma_update, 1e-13), (reference.gamma_update, 1e-7)]
)
def test_the_gamma_update_is_right_also_after_millions_of_rows(update, rtol):
    rng = np.random.default_rng(1)
    for _ in range(200):
        shape = float(1.5 + 10 ** rng.uniform(0, 7))
        rate, variance = float(shape * 10 ** rng.uniform(-4, 1)), float(10 ** rng.uniform(-6, 1))
        square = float((rate / shape + variance) * rng.chisquare(1))
        np.testing.assert_allclose(
            update(shape, rate, square, variance),
            gamma_in_eighty_digits(shape, rate, square, variance),
            rtol=rtol,
        )


def gamma_in_eighty_digits(shape, rate, square, variance):
    """Return equations 9 and 10 as printed."""
    with mpmath.workdps(80):
        a, b, r, v = (mpmath.mpf(value) for value in (shape, rate, square, variance))
        z = []
        for j in range(3):
            s = v + b / (a - 1 + j)
            z.append(mpmath.exp(-r / (2 * s)) / mpmath.sqrt(s))
        new_shape = 1 / (z[0] * z[2] / z[1] ** 2 * (a + 1) / a - 1)
        new_rate = 1 / (z[2] / z[1] * (a + 1) / b - z[1] / z[0] * a / b)
        return float(new_shape), float(new_rate)
