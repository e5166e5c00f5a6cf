"""Compared with quadrature with other nodes, and limits of the logistic function."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from bnnbench.methods.message_passing.factors import softmax
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

# Means, variances, label; (tau, rho) of each class by 40-digit quadrature.
BACKWARD = [
    ((1, 0, -1), (1, 1, 1), 0,
     [(0.54664465, 0.18237990), (-0.29439709, 0.16291743), (-0.22320445, 0.093446850)]),
    ((1, 0, -1), (1, 1, 1), 2,
     [(-0.42461838, 0.21146887), (-0.29439709, 0.16291743), (0.73782279, 0.15213451)]),
    ((0, 0, 0, 0), (2, 0.5, 1e-3, 10), 1,
     [(-0.29361234, 0.13872968), (0.73469922, 0.20261701), (-0.25004685, 0.18746485),
      (-0.29998215, 0.076501246)]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mean", "variance", "label", "expected"), BACKWARD)
def test_backward_is_what_quadrature_found(mean, variance, label, expected, dtype):
    out = softmax.backward(gaussian(mean, variance, dtype), torch.tensor(label))
    relative = 1e-7 if dtype is torch.float64 else 1e-6  # eight digits; rounded messages
    for k, (tau, rho) in enumerate(expected):
        assert out.tau[k].item() == pytest.approx(tau, rel=relative)
        assert out.rho[k].item() == pytest.approx(rho, rel=relative)


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_are_the_probit_approximation(dtype):
    one = torch.ones(3, dtype=dtype)
    found = softmax.log_probabilities(torch.tensor([1, 0, -1], dtype=dtype), one)
    assert found.exp().tolist() == pytest.approx([0.62027422, 0.26581353, 0.11391225], rel=1e-6)


def exact(z: Gaussian, label: int, k: int) -> tuple[float, float]:
    """Return the message to output k, by quadrature on each side of the likelihood's bend."""
    adjusted = (z.mean / (1 + math.pi / 8 * z.variance).sqrt()).numpy()
    bend = float(logsumexp(np.delete(adjusted, k)))
    mean, variance = z.mean[k].item(), z.variance[k].item()
    sign = 1 if k == label else -1

    def moment(power: int) -> float:
        def integrand(x: np.ndarray) -> np.ndarray:
            likelihood = expit(sign * (x - bend))
            return normal_pdf(x, mean, variance) * likelihood * (x - mean) ** power

        low, high = (mean + side * 12 * math.sqrt(variance) for side in (-1, 1))
        middle = min(max(bend, low), high)
        return integral(integrand, low, middle) + integral(integrand, middle, high)

    mass = moment(0)
    shift = moment(1) / mass
    shrunk = moment(2) / mass - shift**2
    return (mean + shift) / shrunk - mean / variance, 1 / shrunk - 1 / variance


def test_messages_are_the_exact_quotients_whatever_the_width():
    z = random_messages(25, 4, seed=1)
    width = torch.logspace(-3, 2, 25, dtype=torch.float64)[:, None]
    z = Gaussian(z.tau / width, z.rho / width**2)
    for row in range(25):
        message = softmax.backward(z[row], torch.tensor(row % 4))
        for k in range(4):
            tau, rho = exact(z[row], row % 4, k)
            # A precision far below that of z is lost in the quadrature's difference.
            scale = z.rho[row, k].item()
            assert message.rho[k].item() == pytest.approx(rho, rel=1e-6, abs=1e-9 * scale)
            error = 1e-9 * (scale**0.5 + abs(z.tau[row, k].item()))
            assert message.tau[k].item() == pytest.approx(tau, rel=1e-6, abs=error)


def test_a_contradiction_is_uniform():
    message = softmax.backward(gaussian([0.0, 40.0], [0.01, 0.01]), torch.tensor(0))
    assert (message.tau == 0).all()
    assert (message.rho == 0).all()


def test_a_wrong_but_possible_output_is_pulled_by_the_slope_of_the_loss():
    # Far on the losing side the likelihood is e^(z - c): the message has slope 1, no precision.
    message = softmax.backward(gaussian([0.0, 20.0], [0.01, 0.01]), torch.tensor(0))
    assert message.tau[0].item() == pytest.approx(1, rel=1e-6)
    assert message.rho[0].item() == pytest.approx(0, abs=1e-6)


@given(z=st.lists(extreme, min_size=2, max_size=6), label=st.integers(0, 1), dtype=dtypes)
@settings(max_examples=60)
def test_no_message_is_ever_invalid(z, label, dtype):
    assert softmax.backward(of_extremes(z, dtype), torch.tensor(label)).is_valid().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_a_point_does_not_depend_on_its_place(dtype):
    z, labels = random_messages(5, 3, 10, seed=6, dtype=dtype), torch.arange(15).view(5, 3) % 10
    assert_position_does_not_matter(softmax.backward, z, labels)

    def as_message(z: Gaussian) -> Gaussian:
        return Gaussian(softmax.log_probabilities(z.mean, z.variance), z.rho)

    assert_position_does_not_matter(as_message, z)
