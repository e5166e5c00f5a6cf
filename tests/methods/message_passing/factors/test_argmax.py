"""Compared with pairwise exact marginals by quadrature, enumeration of classes, invariants."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from bnnbench.methods.message_passing.factors import argmax
from bnnbench.methods.message_passing.gaussian import Gaussian
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

# Means, variances, label, target variance; (tau, rho) of each class by 40-digit quadrature.
BACKWARD = [
    ((1, 0, -1), (1, 1, 1), 0, None,
     [(0.88889075, 0.39365968), (-0.26595937, 0.19117708), (-0.24964144, 0.12426966)]),
    ((1, 0, -1), (1, 1, 1), 2, 0.1,
     [(-10.119724, 10.053304), (-10.315325, 10.124811), (12.026390, 11.059124)]),
    ((0, 0, 0, 0), (2, 0.5, 1e-3, 10), 1, 0.1,
     [(-10.437238, 10.208487), (12.267556, 11.636163), (-10.446107, 10.397707),
      (-10.295696, 10.071792)]),
    ((8, -8), (1, 1), 1, None, [(-1.59e-25, 1.92e-26), (6.2738505, 0.75769317)]),
    ((8, -8), (1, 1), 0, None, [(0, 0), (0, 0)]),
    ((-3, 3, 0.5), (1e-4, 0.01, 1e4), 0, 0.1,
     [(19.928704, 13.199417), (-10, 10), (-10.011160, 10.000088)]),
]  # fmt: skip

# Means, variances, probability that each is the largest.
PROBABILITIES = [
    ((1, 0, -1), (1, 1, 1), (0.75960606, 0.21356180, 0.026832141)),
    ((0, 0, 0, 0), (2, 0.5, 1e-3, 10), (0.25, 0.25, 0.25, 0.25)),
    ((8, -8), (1, 1), (1, 2.5374885e-26)),
    ((-3, 3, 0.5), (1e-4, 0.01, 1e4), (1.4477541e-27, 0.66940711, 0.33059289)),
]


def relative(dtype: torch.dtype) -> float:
    """The vectors have eight digits; rounding the messages to float32 costs some of them."""
    return 1e-7 if dtype is torch.float64 else 1e-4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mean", "variance", "label", "target_variance", "expected"), BACKWARD)
def test_backward_is_what_quadrature_found(mean, variance, label, target_variance, expected, dtype):
    out = argmax.backward(
        gaussian(mean, variance, dtype), torch.tensor(label), target_variance=target_variance
    )
    for k, (tau, rho) in enumerate(expected):
        # The fourth vector has three digits of a message of 1e-25.
        tolerance = relative(dtype) if abs(tau) > 1e-20 else 1e-2
        assert out.tau[k].item() == pytest.approx(tau, rel=tolerance, abs=0 if tau else 1e-22)
        assert out.rho[k].item() == pytest.approx(rho, rel=tolerance, abs=0 if rho else 1e-22)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mean", "variance", "expected"), PROBABILITIES)
def test_log_probabilities_agree_with_the_vectors(mean, variance, expected, dtype):
    out = argmax.log_probabilities(
        torch.tensor(mean, dtype=dtype), torch.tensor(variance, dtype=dtype)
    )
    assert out.exp().tolist() == pytest.approx(expected, rel=relative(dtype))


def pair_message(own: tuple, other: tuple, noise: float) -> tuple[float, float]:
    """Return the exact marginal of u under N(u) Φ((u - v)/√noise) N(v), divided by N(u)."""
    (mean, variance), (other_mean, other_variance) = own, other
    spread = math.sqrt(other_variance + noise)

    def moment(power: int) -> float:
        def integrand(u: np.ndarray) -> np.ndarray:
            density = normal_pdf(u, mean, variance) * ndtr((u - other_mean) / spread)
            return density * (u - mean) ** power

        reach = 14 * math.sqrt(variance)
        return integral(integrand, mean - reach, mean + reach)

    mass = moment(0)
    shift = moment(1) / mass
    shrunk = moment(2) / mass - shift**2
    return (mean + shift) / shrunk - mean / variance, 1 / shrunk - 1 / variance


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_each_pair_sends_the_exact_marginals_quotient(noise):
    z = random_messages(20, 2, seed=1)
    for row in range(20):
        (mean, variance) = z.mean[row].tolist(), z.variance[row].tolist()
        out = argmax.backward(z[row], torch.tensor(0), noise_variance=noise, target_variance=None)
        tau, rho = pair_message((mean[0], variance[0]), (mean[1], variance[1]), noise)
        # Quadrature loses the digits in which a weak message differs from a uniform one.
        scale = 1 / variance[0]
        assert out.rho[0].item() == pytest.approx(rho, rel=1e-8, abs=1e-10 * scale)
        assert out.tau[0].item() == pytest.approx(tau, rel=1e-8, abs=1e-9 * scale)
        # The loser, mirrored: -v beats -u.
        tau, rho = pair_message((-mean[1], variance[1]), (-mean[0], variance[0]), noise)
        loses = ndtr((mean[0] - mean[1]) / math.sqrt(sum(variance) + noise))
        scale = 1 / variance[1]
        assert out.rho[1].item() == pytest.approx(loses * rho, rel=1e-8, abs=1e-10 * scale)
        assert out.tau[1].item() == pytest.approx(-loses * tau, rel=1e-8, abs=1e-9 * scale)


@pytest.mark.parametrize(("target", "other"), [(-1e6, 0.0), (-1e3, 1e3), (1.0, 1e6), (5.0, -5.0)])
def test_a_pair_far_apart_does_not_cancel(target, other):
    z = gaussian([target, other], [1.5, 0.7])
    message = argmax.backward(z, torch.tensor(0), target_variance=None)
    with mpmath.workdps(80):
        total = mpmath.mpf("0.7") + mpmath.mpf("0.3")  # of the other output and the noise
        own = mpmath.mpf("1.5")
        root = mpmath.sqrt(own + total)
        x = (mpmath.mpf(target) - other) / root
        hazard = mpmath.npdf(x) / (mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
        mean = target + own * hazard / root  # of the marginal, by differentiating log Φ
        variance = own - own**2 * hazard * (hazard + x) / root**2
        tau, rho = mean / variance - mpmath.mpf(target) / own, 1 / variance - 1 / own
        assert message.tau[0].item() == pytest.approx(float(tau), rel=1e-8)
        assert message.rho[0].item() == pytest.approx(float(rho), rel=1e-8)


def test_the_target_is_told_by_all_pairs_and_the_regulariser_is_a_message():
    z = random_messages(30, 6, seed=2)
    labels = torch.arange(30) % 6
    plain = argmax.backward(z, labels, target_variance=None)
    regularised = argmax.backward(z, labels, target_variance=0.2)
    for row in range(30):
        t = int(labels[row])
        pairs = [
            argmax.backward(z[row, [t, k]], torch.tensor(0), target_variance=None)
            for k in range(6)
            if k != t
        ]
        assert plain.tau[row, t].item() == pytest.approx(sum(p.tau[0].item() for p in pairs))
        assert plain.rho[row, t].item() == pytest.approx(sum(p.rho[0].item() for p in pairs))
    sign = torch.nn.functional.one_hot(labels, 6) * 2.0 - 1
    torch.testing.assert_close(regularised.tau - plain.tau, 5 * sign.double())
    torch.testing.assert_close(regularised.rho - plain.rho, torch.full((30, 6), 5.0).double())


def test_permuting_classes_permutes_messages_and_probabilities():
    z, order = random_messages(40, 5, seed=3), torch.tensor([3, 0, 4, 1, 2])
    labels = torch.arange(40) % 5
    moved = argmax.backward(z[:, order], torch.argsort(order)[labels])
    straight = argmax.backward(z, labels)
    torch.testing.assert_close(moved.tau, straight.tau[:, order])
    torch.testing.assert_close(moved.rho, straight.rho[:, order])
    torch.testing.assert_close(
        argmax.log_probabilities(z.mean[:, order], z.variance[:, order]),
        argmax.log_probabilities(z.mean, z.variance)[:, order],
    )


def test_probabilities_of_two_classes_agree_with_one_comparison():
    z = random_messages(50, 2, seed=4)
    x = (z.mean[:, 0] - z.mean[:, 1]) / (z.variance.sum(-1) + 0.3).sqrt()
    found = argmax.log_probabilities(z.mean, z.variance).exp()
    np.testing.assert_allclose(found[:, 0], ndtr(x.numpy()), rtol=1e-9)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-12)


def test_float32_agrees_with_float64():
    z, labels = random_messages(500, 10, seed=5, dtype=torch.float32), torch.arange(500) % 10
    wide = argmax.backward(Gaussian(z.tau.double(), z.rho.double()), labels)
    narrow = argmax.backward(z, labels)
    torch.testing.assert_close(narrow.tau.double(), wide.tau, rtol=1e-7, atol=1e-30)
    torch.testing.assert_close(narrow.rho.double(), wide.rho, rtol=1e-7, atol=1e-30)


@given(
    z=st.lists(extreme, min_size=2, max_size=6),
    label=st.integers(0, 1),
    target_variance=st.sampled_from([0.1, None]),
    dtype=dtypes,
)
@settings(max_examples=300)
def test_no_message_is_ever_invalid(z, label, target_variance, dtype):
    message = argmax.backward(
        of_extremes(z, dtype), torch.tensor(label), target_variance=target_variance
    )
    assert message.is_valid().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_a_point_does_not_depend_on_its_place(dtype):
    z, labels = random_messages(7, 3, 10, seed=6, dtype=dtype), torch.arange(21).view(7, 3) % 10
    assert_position_does_not_matter(argmax.backward, z, labels)

    def as_message(z: Gaussian) -> Gaussian:
        return Gaussian(argmax.log_probabilities(z.mean, z.variance), z.rho)

    assert_position_does_not_matter(as_message, z)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_the_probability_to_be_largest_agrees_with_sampled_outputs(noise):
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(4, 5)), rng.uniform(0.0, 2.0, (4, 5))
    outputs = mean + np.sqrt(variance + noise / 2) * rng.normal(size=(400_000, 4, 5))
    shares = np.eye(5)[outputs.argmax(-1)].mean(0)
    found = argmax.log_largest(torch.tensor(mean), torch.tensor(variance), noise).exp().numpy()
    np.testing.assert_allclose(found, shares, atol=4e-3)  # 5 standard errors


def test_two_classes_have_the_same_probabilities_by_either_rule():
    mean, variance = torch.tensor([[0.7, -0.4], [3.0, -3.0]]).double(), torch.tensor([0.2, 1.5])
    both = [
        rule(mean, variance.double().expand(2, 2))
        for rule in (argmax.log_largest, argmax.log_probabilities)
    ]
    torch.testing.assert_close(*both, rtol=1e-9, atol=1e-12)


def test_pairs_as_if_independent_are_too_sure():
    """Outputs at the values that best fit a class probability of 0.35, pair by pair."""
    mean = torch.tensor([ndtri(0.35 / (0.35 + 0.65 / 9)) * 0.3**0.5, *[0.0] * 9])
    pairs, largest = (
        float(rule(mean, torch.zeros(10))[0].exp())
        for rule in (argmax.log_probabilities, argmax.log_largest)
    )
    assert pairs > 0.9
    assert 0.3 < largest < 0.5
