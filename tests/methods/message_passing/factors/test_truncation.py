"""Compared with 50-digit arithmetic, and moments by quadrature."""

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.message_passing.factors import truncation
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    gaussian,
    of_extremes,
    random_messages,
)

# Mean and variance of d, of d given d > 0, and their quotient (tau, rho), by quadrature.
VECTORS = [
    (0, 1, 0.79788456, 0.36338023, 2.1957292, 1.7519384),
    (-10, 1, 0.098093234, 0.0094453778, 20.385316, 104.87189),
    (-30, 1, 0.033259667, 0.0011037715, 60.132747, 904.98461),
    (-1.5, 4, 1.1575559, 0.92373037, 1.6281318, 0.83256698),
    (2, 1e6, 798.61176, 363816.48, 0.0021930950, 1.7486385e-6),
    (10, 1, 10, 1, 0, 0),
    (0.3, 1e-4, 0.3, 1e-4, 0, 0),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mean", "variance", "to_mean", "to_variance", "tau", "rho"), VECTORS)
def test_the_message_is_the_quotient_found_by_quadrature(
    mean, variance, to_mean, to_variance, tau, rho, dtype
):
    d = gaussian([mean], [variance], dtype)
    message = truncation.backward(d)
    # The vectors have eight digits; rounding the messages to float32 costs some of them.
    relative = 1e-7 if dtype is torch.float64 else 1e-4
    assert (message.tau.item(), message.rho.item()) == pytest.approx(
        (tau, rho), rel=relative, abs=1e-19
    )
    marginal = message * d
    assert marginal.mean.item() == pytest.approx(to_mean, rel=relative)
    assert marginal.variance.item() == pytest.approx(to_variance, rel=relative)


@given(x=st.floats(-1e6, 25.0))
@settings(max_examples=400)
def test_each_truncated_moment_is_accurate_relative_to_itself(x):
    with mpmath.workdps(50):
        hazard = mpmath.npdf(x) / (mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
        mean = x + hazard
        expected = (hazard, mean, 1 - hazard * mean, hazard * mean)
        found = truncation.truncated(torch.tensor([x], dtype=torch.float64))
        for value, truth in zip(found, expected, strict=True):
            # At -5 the variance is the difference of numbers forty times as large.
            assert abs(value.item() / truth - 1) < 1e-12


def test_truncated_moments_are_accurate_where_the_two_forms_meet():
    x = torch.linspace(-7, -4, 301, dtype=torch.float64)
    with mpmath.workdps(50):
        for value, variance in zip(x.tolist(), truncation.truncated(x).variance, strict=True):
            hazard = mpmath.npdf(value) / (mpmath.erfc(-mpmath.mpf(value) / mpmath.sqrt(2)) / 2)
            truth = 1 - hazard * (value + hazard)
            assert abs(variance.item() / truth - 1) < 1e-12


def test_float32_moments_hold_the_claimed_tolerance():
    x = torch.linspace(-30, 10, 4001)
    narrow, wide = truncation.truncated(x), truncation.truncated(x.double())
    for value, truth in zip(narrow, wide, strict=True):
        # Worst at -5, for the reason above: 2^-24 times some thousands.
        assert ((value.double() - truth) / truth).abs().max() < 1e-3


@given(x=st.floats(-30.0, 8.0))
@settings(max_examples=100)
def test_cdf_is_accurate_in_its_tail(x):
    with mpmath.workdps(50):
        truth = mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2
        # The argument of erfc is rounded, which costs x² eps.
        assert (
            abs(truncation.cdf(torch.tensor([x], dtype=torch.float64)).item() / truth - 1) < 1e-12
        )


@given(d=st.lists(extreme, min_size=1, max_size=8), dtype=dtypes)
@settings(max_examples=200)
def test_no_message_is_ever_invalid(d, dtype):
    assert truncation.backward(of_extremes(d, dtype)).is_valid().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_an_element_does_not_depend_on_its_place(dtype):
    assert_position_does_not_matter(
        truncation.backward, random_messages(5, 11, seed=1, spread=6.0, dtype=dtype)
    )
