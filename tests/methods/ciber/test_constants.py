"""The origin of CIBER's constants: the best triangle and the best cubic, by quadrature."""

import math

import mpmath
import pytest
import torch

from bnnbench.methods.ciber.method import EQUAL_VARIANCE, NEAREST
from bnnbench.methods.integration.weights import SMOOTHSTEP_REACH, smoothstep, triangle


def squared_distance(half_base: float) -> float:
    """Return the integral of the squared difference of triangle and standard normal density."""
    a = mpmath.mpf(half_base)

    def inside(x: mpmath.mpf) -> mpmath.mpf:
        return (1 / a - x / a**2 - mpmath.npdf(x)) ** 2

    beyond = mpmath.quad(lambda x: mpmath.npdf(x) ** 2, [a, a + 4, a + 12])
    return float(2 * (mpmath.quad(inside, [0, a / 2, a]) + beyond))


def test_no_triangle_is_nearer_to_a_normal_density():
    least = squared_distance(NEAREST)
    assert least == pytest.approx(1.2732617e-3, rel=1e-7)
    assert min(squared_distance(NEAREST - 1e-4), squared_distance(NEAREST + 1e-4)) > least
    # The derivative is 0 at 2 Φ(a) - 1 - 4 (φ(0) - φ(a)) / a = 1/3.
    a = mpmath.mpf(NEAREST)
    slope = 2 * mpmath.ncdf(a) - 1 - 4 * (mpmath.npdf(0) - mpmath.npdf(a)) / a
    assert float(slope) == pytest.approx(1 / 3, abs=1e-15)


def test_a_triangle_of_equal_variance():
    found = float(mpmath.quad(lambda x: 2 * x * x * (1 - x / EQUAL_VARIANCE) / EQUAL_VARIANCE,
                              [0, EQUAL_VARIANCE]))  # fmt: skip
    assert found == pytest.approx(1, rel=1e-14)
    at = torch.tensor([-1.0, 0.0, 1.0, 3.0], dtype=torch.float64)
    wanted = [(1 - min(abs(float(x)), EQUAL_VARIANCE) / EQUAL_VARIANCE) / EQUAL_VARIANCE
              for x in at]  # fmt: skip
    assert triangle(EQUAL_VARIANCE)(at).tolist() == pytest.approx(wanted, abs=1e-15)


def cubic_distance(reach: float, slope: float) -> float:
    """Return the squared distance of the logistic from 1/2 + slope x + b x³, 1 at reach."""
    d = mpmath.mpf(reach)
    cube = (mpmath.mpf(1) / 2 - slope * d) / d**3

    def gap(x: mpmath.mpf) -> mpmath.mpf:
        return (mpmath.mpf(1) / 2 + slope * x + cube * x**3 - 1 / (1 + mpmath.exp(-x))) ** 2

    beyond = mpmath.quad(lambda x: 1 / (1 + mpmath.exp(x)) ** 2, [d, d + 6, d + 40])
    return float(2 * (mpmath.quad(gap, [0, d]) + beyond))


def test_no_continuous_cubic_is_nearer_to_the_logistic_function():
    d, slope = SMOOTHSTEP_REACH, 0.2129006940686621
    assert slope == pytest.approx(3 / (4 * d), rel=1e-14)
    least = cubic_distance(d, slope)
    assert math.sqrt(least) == pytest.approx(0.0623328, rel=2e-6)
    for step in (1e-3, -1e-3):
        assert cubic_distance(d + step, slope) > least
        assert cubic_distance(d, slope + step) > least
        assert cubic_distance(d + step, 3 / (4 * (d + step))) > least
    x = torch.linspace(-5, 5, 100_001, dtype=torch.float64)
    cube = -0.005718570114506619
    inside = (0.5 + slope * x + cube * x**3)[x.abs() < d]
    torch.testing.assert_close(smoothstep()(x)[x.abs() < d], inside, rtol=1e-12, atol=1e-14)
    assert float((smoothstep()(x) - x.sigmoid()).abs().max()) == pytest.approx(0.0330629, rel=1e-5)
