"""Compared with moments by 40-digit quadrature, marginals by quadrature, limits, invariants."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.message_passing.factors import leaky_relu
from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    gaussian,
    integral,
    normal_pdf,
    of_extremes,
    random_messages,
)

SLOPES = (0.1, 0.01, 0.5)

# (mean, variance, slope) of z, then mean and variance of LeakyReLU(z), by 40-digit quadrature.
DIRECT = [
    (0, 1, 0.1, 0.35904805, 0.37608450),
    (1, 4, 0.1, 1.35603380, 2.33100086),
    (-1, 0.25, 0.1, -0.09617918, 0.0046773245),
    (10, 1, 0.1, 10, 1),
    (-10, 1, 0.1, -1, 0.01),
    (0.5, 1e-6, 0.1, 0.5, 1e-6),
    (-0.5, 1e-6, 0.1, -0.05, 1e-8),
    (3, 1e6, 0.1, 360.69967, 377270.02),
    (2, 3, 1.0, 2, 3),
    (-0.3, 2, 0.01, 0.41956809, 0.52805431),
]

# Mean and variance of z and of a, slope 0.1; then (tau, rho) forward, whether it is the direct
# message, (tau, rho) backward, and whether it was floored, by 40-digit quadrature.
MARGINAL = [
    ((1, 1, 1, 1), (1.0434357, 1.1070170), False, (0.44363623, 0.57931020), False),
    ((0, 1, 0, 1), (1.0549907, 4.6126920), False, (-0.31310886, 0.36291181), False),
    ((0.5, 2, -1, 0.5), (1.4771687, 18.800369), False, (-1.1890011, 0.66742400), False),
    ((-1, 1, 2, 1), (-1.2194761, 2.2808971), False, (0.60239690, 1e-8), True),
    ((10, 1, 9, 1), (10, 1), False, (9, 1), False),
    ((-10, 1, -1, 1), (-100, 100), False, (-0.1, 0.01), False),
    ((-10, 1, 3, 0.04), (-100, 100), True, (75, 25), False),
    ((1, 1e-4, 1.01, 1e-4), (10000, 10000), False, (10100, 10000), False),
    ((-0.2, 1e6, 0.3, 0.01), (9.5460851e-4, 2.6595355e-6), True, (19.308552, 65.975802), False),
    ((0.7, 0.5, 0.1, 1e8), (1.9673088, 2.6090099), False, (0, 1e-8), True),
    ((0.3, 1, -0.05, 0.0025), (-18.838258, 391.54339), False, (-4.5652344, 7.5780402), False),
]


def relative(dtype: torch.dtype) -> float:
    """The vectors have eight digits; rounding the messages to float32 costs some of them."""
    return 2e-7 if dtype is torch.float64 else 1e-4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mean", "variance", "slope", "out_mean", "out_variance"), DIRECT)
def test_direct_has_the_moments_found_by_quadrature(
    mean, variance, slope, out_mean, out_variance, dtype
):
    out = leaky_relu.direct(gaussian([mean], [variance], dtype), slope)
    assert out.rho.dtype == dtype
    assert out.mean.item() == pytest.approx(out_mean, rel=relative(dtype))
    assert out.variance.item() == pytest.approx(out_variance, rel=relative(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("moments", "to_a", "is_direct", "to_z", "is_floored"), MARGINAL)
def test_both_directions_are_the_quotients_found_by_quadrature(
    moments, to_a, is_direct, to_z, is_floored, dtype
):
    z, a = gaussian([moments[0]], [moments[1]], dtype), gaussian([moments[2]], [moments[3]], dtype)
    up, fell_back = leaky_relu.forward(z, a, 0.1)
    down, replaced = leaky_relu.backward(z, a, 0.1)
    assert (fell_back.item(), replaced.item()) == (is_direct, is_floored)
    assert (up.tau.item(), up.rho.item()) == pytest.approx(to_a, rel=relative(dtype))
    # A floored message has no accuracy below 1e-9.
    assert down.tau.item() == pytest.approx(to_z[0], rel=relative(dtype), abs=1e-9)
    assert down.rho.item() == pytest.approx(to_z[1], rel=relative(dtype))


def exact_marginals(z: Gaussian, a: Gaussian, slope: float) -> list[tuple[float, float]]:
    """Return mean and variance of z and of a = LeakyReLU(z) under both messages."""
    z_mean, z_variance, a_mean, a_variance = (
        v.item() for v in (z.mean, z.variance, a.mean, a.variance)
    )

    def moment(power: int, of_a: bool) -> float:
        def integrand(x: np.ndarray) -> np.ndarray:
            out = np.where(x > 0, x, slope * x)
            density = normal_pdf(x, z_mean, z_variance) * normal_pdf(out, a_mean, a_variance)
            return density * (out if of_a else x) ** power

        reach = 14 * math.sqrt(z_variance)
        low, high = min(z_mean - reach, 0.0), max(z_mean + reach, 0.0)
        return integral(integrand, low, 0.0) + integral(integrand, 0.0, high)

    mass = moment(0, False)
    found = []
    for of_a in (False, True):
        mean = moment(1, of_a) / mass
        found.append((mean, moment(2, of_a) / mass - mean**2))
    return found


@pytest.mark.parametrize("slope", SLOPES)
def test_where_no_guard_acts_message_times_message_is_the_exact_marginal(slope):
    z, a = random_messages(60, seed=1), random_messages(60, seed=2)
    up, fell_back = leaky_relu.forward(z, a, slope)
    down, replaced = leaky_relu.backward(z, a, slope)
    of_a, of_z = up * a, down * z
    assert (~fell_back).sum() > 20
    assert (~replaced).sum() > 20
    for i in range(60):
        (z_mean, z_variance), (a_mean, a_variance) = exact_marginals(z[i], a[i], slope)
        # The quadrature's variance loses about the square of mean/std to cancellation.
        if not replaced[i]:
            assert of_z.mean[i].item() == pytest.approx(z_mean, rel=1e-8, abs=1e-9)
            assert of_z.variance[i].item() == pytest.approx(z_variance, rel=1e-8)
        if not fell_back[i]:
            assert of_a.mean[i].item() == pytest.approx(a_mean, rel=1e-8, abs=1e-9)
            assert of_a.variance[i].item() == pytest.approx(a_variance, rel=1e-8)


def test_a_floored_message_keeps_the_marginal_mean():
    z, a = random_messages(200, seed=3), random_messages(200, seed=4)
    down, replaced = leaky_relu.backward(z, a, 0.1)
    floored = [i for i in range(200) if replaced[i] and down.tau[i] != 0]
    assert len(floored) > 10
    for i in floored[:20]:
        (z_mean, _), _ = exact_marginals(z[i], a[i], 0.1)
        assert (down * z).mean[i].item() == pytest.approx(z_mean, rel=1e-8, abs=1e-9)


def precise_quotients(z: Gaussian, a: Gaussian, slope: float) -> list[tuple[float, float]]:
    """Return (tau, rho) to a and to z in 80-digit arithmetic, from textbook formulas."""
    with mpmath.workdps(80):
        (z_tau, z_rho, a_tau, a_rho) = (mpmath.mpf(v.item()) for v in (z.tau, z.rho, a.tau, a.rho))
        sides = []
        for sign, c in ((1, mpmath.mpf(1)), (-1, mpmath.mpf(slope))):
            precision, tau = z_rho + c**2 * a_rho, sign * (z_tau + c * a_tau)
            x = tau / mpmath.sqrt(precision)
            mass = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
            hazard = mpmath.npdf(x) / mass
            weight = mass * mpmath.exp(x**2 / 2) / mpmath.sqrt(precision)
            mean = sign * (x + hazard) / mpmath.sqrt(precision)
            sides.append((weight, mean, (1 - hazard * (hazard + x)) / precision, c))
        total = sum(side[0] for side in sides)
        found = []
        for of_a, other_tau, other_rho in ((True, a_tau, a_rho), (False, z_tau, z_rho)):
            scaled = [(w / total, m * (c if of_a else 1), v * (c**2 if of_a else 1))
                      for w, m, v, c in sides]  # fmt: skip
            mean = sum(w * m for w, m, _ in scaled)
            variance = sum(w * (v + (m - mean) ** 2) for w, m, v in scaled)
            found.append((float(mean / variance - other_tau), float(1 / variance - other_rho)))
        return found


@pytest.mark.parametrize(
    "moments",
    [
        # Squeezed against 0 from both sides: hazards cancel against means.
        (30.0, 1.0, -30.0, 1.0),
        (4.0, 1e-2, -1.0, 1e-4),
        (4e3, 1e-2, -1e3, 5e-4),
        # One message is far more precise than the other, and far out on one side.
        (40.0, 1e2, 39.0, 1e-8),
        (-40.0, 1e2, -4.1, 1e-8),
        (50.0, 1e-8, 51.0, 1e2),
        (-50.0, 1e-8, -5.2, 1e2),
    ],
)
def test_quotients_do_not_cancel(moments):
    z, a = gaussian([moments[0]], [moments[1]]), gaussian([moments[2]], [moments[3]])
    marginal = leaky_relu._Marginal.of(z, a, 0.1)
    up, (down, _) = marginal.forward(z, a), marginal.backward(z, a)
    to_a, to_z = precise_quotients(z, a, 0.1)
    assert (up.tau.item(), up.rho.item()) == pytest.approx(to_a, rel=1e-9)
    assert (down.tau.item(), down.rho.item()) == pytest.approx(to_z, rel=1e-9)


def test_a_message_beyond_its_type_is_direct_and_counted():
    # The vector of precision 18.8, scaled: 7.5e38 exceeds the range of float32.
    scale = 4e37
    z = gaussian([0.5 / scale**0.5], [2 / scale], torch.float32)
    a = gaussian([-1 / scale**0.5], [0.5 / scale], torch.float32)
    assert a.is_valid().all()
    message, fell_back = leaky_relu.forward(z, a, 0.1)
    assert fell_back.all()
    assert torch.equal(message.rho, leaky_relu.direct(z, 0.1).rho)
    assert message.is_valid().all()


@pytest.mark.parametrize("slope", [*SLOPES, 0.0])
def test_float32_agrees_with_float64(slope):
    # Both are evaluated in float64, so only the result is rounded: 2^-24 = 6e-8.
    for seed in range(5):
        z = random_messages(4000, seed=10 + seed, dtype=torch.float32)
        a = random_messages(4000, seed=20 + seed, dtype=torch.float32)
        wide_z = Gaussian(z.tau.double(), z.rho.double())
        wide_a = Gaussian(a.tau.double(), a.rho.double())
        for function in (leaky_relu.forward, leaky_relu.backward):
            narrow, narrow_count = function(z, a, slope)
            wide, wide_count = function(wide_z, wide_a, slope)
            assert torch.equal(narrow_count, wide_count)
            torch.testing.assert_close(narrow.tau.double(), wide.tau, rtol=1e-7, atol=1e-30)
            torch.testing.assert_close(narrow.rho.double(), wide.rho, rtol=1e-7, atol=1e-30)


def test_slope_one_passes_both_messages_through():
    z, a = gaussian([2.0, -0.3], [3.0, 2.0]), gaussian([1.0, 0.4], [2.0, 1.0])
    up, fell_back = leaky_relu.forward(z, a, 1.0)
    down, replaced = leaky_relu.backward(z, a, 1.0)
    assert not fell_back.any()
    assert not replaced.any()
    for message, expected in ((up, z), (down, a), (leaky_relu.direct(z, 1.0), z)):
        torch.testing.assert_close(message.tau, expected.tau, rtol=1e-12, atol=0)
        torch.testing.assert_close(message.rho, expected.rho, rtol=1e-12, atol=0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_far_from_zero_the_factor_is_a_linear_map(sign):
    slope = 1.0 if sign > 0 else 0.1
    z, a = gaussian([sign * 12.0], [1.0]), gaussian([sign * 12 * slope], [slope**2])
    up, fell_back = leaky_relu.forward(z, a, 0.1)
    down, replaced = leaky_relu.backward(z, a, 0.1)
    assert not fell_back.any()
    assert not replaced.any()
    torch.testing.assert_close(up.tau, z.tau / slope, rtol=1e-9, atol=0)
    torch.testing.assert_close(up.rho, z.rho / slope**2, rtol=1e-9, atol=0)
    torch.testing.assert_close(down.tau, a.tau * slope, rtol=1e-9, atol=0)
    torch.testing.assert_close(down.rho, a.rho * slope**2, rtol=1e-9, atol=0)


@given(log_scale=st.floats(-1.5, 1.5), seed=st.integers(0, 2**16))
@settings(max_examples=60)
def test_scaling_both_variables_scales_both_messages(log_scale, seed):
    scale = 10.0**log_scale
    z, a = random_messages(50, seed=seed), random_messages(50, seed=seed + 1)

    def scaled(message: Gaussian) -> Gaussian:
        return Gaussian(message.tau / scale, message.rho / scale**2)

    for function in (leaky_relu.forward, leaky_relu.backward):
        plain, acted = function(z, a, 0.1)
        other, acted_too = function(scaled(z), scaled(a), 0.1)
        same = ~acted & ~acted_too  # the guards are absolute
        assert same.any()
        torch.testing.assert_close(other.tau[same], scaled(plain).tau[same], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(other.rho[same], scaled(plain).rho[same], rtol=1e-9, atol=1e-9)


GUARDED_FORWARD = {
    "density below 1e-8": ((-10, 1), (3, 0.04)),
    "less certain than both messages": ((-0.2, 1e6), (0.3, 0.01)),
}
GUARDED_BACKWARD = {
    "density below e^-700": ((-10, 1), (80, 1)),
    "negative and below 2e-8": ((1, 1), (-1, 1e8)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", GUARDED_FORWARD)
def test_a_guarded_forward_message_is_direct_and_counted(case, dtype):
    z, a = (gaussian([m], [v], dtype) for m, v in GUARDED_FORWARD[case])
    message, fell_back = leaky_relu.forward(z, a, 0.1)
    expected = leaky_relu.direct(z, 0.1)
    assert fell_back.all()
    assert torch.equal(message.tau, expected.tau)
    assert torch.equal(message.rho, expected.rho)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", GUARDED_BACKWARD)
def test_a_guarded_backward_message_is_the_widest_and_counted(case, dtype):
    z, a = (gaussian([m], [v], dtype) for m, v in GUARDED_BACKWARD[case])
    message, replaced = leaky_relu.backward(z, a, 0.1)
    assert replaced.all()
    assert message.tau.item() == 0
    assert message.rho.item() == pytest.approx(1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_negative_true_precision_is_floored_and_counted(dtype):
    z, a = gaussian([-1.0], [1.0], dtype), gaussian([2.0], [1.0], dtype)
    (_, z_variance), _ = exact_marginals(gaussian([-1.0], [1.0]), gaussian([2.0], [1.0]), 0.1)
    assert z_variance > 1  # the factor made z less certain
    message, replaced = leaky_relu.backward(z, a, 0.1)
    assert replaced.all()
    assert message.rho.item() == pytest.approx(1e-8)


def test_equality_of_precisions_is_no_fall_back():
    # Far on the positive side the quotient equals z up to rounding, whose sign is arbitrary.
    z, a = random_messages(2000, seed=5, spread=0.1), random_messages(2000, seed=6, spread=0.1)
    z = Gaussian(z.tau + 30 * z.rho.sqrt() + 30 * z.rho, z.rho)
    a = Gaussian(z.mean * a.rho, a.rho)
    message, fell_back = leaky_relu.forward(z, a, 0.1)
    assert not fell_back.any()
    torch.testing.assert_close(message.rho, z.rho, rtol=1e-9, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_uniform_message_from_above_is_no_event(dtype):
    z = random_messages(100, seed=7, dtype=dtype)
    a = Gaussian.uniform(100, pattern=z.rho)
    up, fell_back = leaky_relu.forward(z, a, 0.1)
    down, replaced = leaky_relu.backward(z, a, 0.1)
    expected = leaky_relu.direct(z, 0.1)
    assert not fell_back.any()
    assert not replaced.any()
    assert torch.equal(up.tau, expected.tau)
    assert torch.equal(up.rho, expected.rho)
    assert (down.tau == 0).all()
    torch.testing.assert_close(down.rho, torch.full_like(down.rho, 1e-8))


@pytest.mark.long
@given(
    z=st.lists(extreme, min_size=1, max_size=8),
    a=st.lists(extreme, min_size=8, max_size=8),
    slope=st.sampled_from((*SLOPES, 0.0, 1.0)),
    dtype=dtypes,
)
@settings(max_examples=400)
def test_no_message_is_ever_invalid(z, a, slope, dtype):
    a = of_extremes(a[: len(z)], dtype)
    z = of_extremes(z, dtype)
    up, _ = leaky_relu.forward(z, a, slope)
    down, _ = leaky_relu.backward(z, a, slope)
    assert leaky_relu.direct(z, slope).is_valid().all()
    assert up.is_valid().all()
    assert down.is_valid().all()
    assert (down.rho > 0).all()


@given(a=extreme, dtype=dtypes)
@settings(max_examples=60)
def test_nothing_is_known_of_a_uniform_unit_and_that_is_counted(a, dtype):
    above = of_extremes([a], dtype)
    z = Gaussian.uniform(1, pattern=above.rho)
    up, fell_back = leaky_relu.forward(z, above, 0.1)
    _, replaced = leaky_relu.backward(z, above, 0.1)
    assert (up.tau.item(), up.rho.item()) == (0, 0)
    assert replaced.item() == (above.rho.item() != 0)
    assert fell_back.item() == (above.rho.item() > LEAST_PRECISION)


@pytest.mark.parametrize(("precision", "counted"), [(1e-12, False), (1e-4, True)])
def test_a_message_that_says_next_to_nothing_is_no_fall_back(precision, counted):
    z = Gaussian.of(torch.tensor([-10.0]), torch.tensor([1.0]))
    above = Gaussian.of(torch.tensor([1e6]), torch.tensor([1 / precision]))
    up, fell_back = leaky_relu.forward(z, above, 0.1)
    assert up.rho.item() == pytest.approx(leaky_relu.direct(z, 0.1).rho.item())
    assert fell_back.item() == counted


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_an_element_does_not_depend_on_its_place(dtype):
    z = random_messages(7, 13, seed=8, dtype=dtype)
    a = random_messages(7, 13, seed=9, dtype=dtype)
    assert_position_does_not_matter(lambda z: leaky_relu.direct(z, 0.1), z)
    assert_position_does_not_matter(lambda z, a: leaky_relu.forward(z, a, 0.1)[0], z, a)
    assert_position_does_not_matter(lambda z, a: leaky_relu.backward(z, a, 0.1)[0], z, a)
