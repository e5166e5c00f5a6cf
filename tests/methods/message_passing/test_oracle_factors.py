"""The oracle's factors, compared with 40-digit quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.methods.message_passing.oracle_factors import (
    argmax_backward,
    hazard,
    leaky_relu_backward,
    leaky_relu_direct,
    leaky_relu_forward,
    leaky_relu_marginals,
    message,
    moments,
    win_probabilities,
)
from tests.methods.message_passing.oracle_layers import MaxPool


@pytest.mark.parametrize(
    ("mean", "variance", "slope", "truth"),
    [
        (0, 1, 0.1, (0.35904805, 0.37608450)),
        (1, 4, 0.1, (1.35603380, 2.33100086)),
        (-1, 0.25, 0.1, (-0.09617918, 0.0046773245)),
        (-10, 1, 0.1, (-1, 0.01)),
        (3, 1e6, 0.1, (360.69967, 377270.02)),
        (2, 3, 1, (2, 3)),
        (-0.3, 2, 0.01, (0.41956809, 0.52805431)),
    ],
)
def test_leaky_relu_matches_printed_moments(mean, variance, slope, truth):
    found = moments(leaky_relu_direct(message(mean, variance), slope))
    assert_allclose(found, truth, rtol=6e-8)


@pytest.mark.parametrize(
    ("arriving", "log_m0", "to_a", "to_z"),
    [
        ((1, 1, 1, 1), -1.2164194, (1.0434357, 1.1070170), (0.44363623, 0.57931020)),
        ((0, 1, 0, 1), -1.0801971, (1.0549907, 4.6126920), (-0.31310886, 0.36291181)),
        ((0.5, 2, -1, 0.5), -2.1882038, (1.4771687, 18.800369), (-1.1890011, 0.66742400)),
        ((-1, 1, 2, 1), -2.8506388, (-1.2194761, 2.2808971), (0.60239690, 1e-8)),
        ((-10, 1, 3, 0.04), -82.188549, (-100, 100), (75, 25)),
        ((-10, 1, -1, 1), -0.92391373, (-100, 100), (-0.1, 0.01)),
        ((-0.2, 1e6, 0.3, 0.01), -7.8146181, (9.5460851e-4, 2.6595355e-6), (19.308552, 65.975802)),
        (
            (0.3, 1, -0.05, 0.0025),
            0.79107570,
            (-18.838258, 391.54339),
            (-4.5652344, 7.5780402),
        ),
    ],
)
def test_leaky_relu_sends_the_printed_messages(arriving, log_m0, to_a, to_z):
    z, a = message(*arriving[:2]), message(*arriving[2:])
    assert_allclose(leaky_relu_marginals(z, a, 0.1).log_m0, log_m0, rtol=1e-7)
    assert_allclose(leaky_relu_forward(z, a, 0.1), to_a, rtol=1e-7)
    assert_allclose(leaky_relu_backward(z, a, 0.1), to_z, rtol=1e-7)


def test_messages_of_the_leaky_relu_are_its_marginals_over_what_arrived():
    rng = np.random.default_rng(6)
    z = message(rng.normal(0, 2, 1000), rng.gamma(2, 1, 1000))
    a = message(rng.normal(0, 2, 1000), rng.gamma(2, 1, 1000))
    found = leaky_relu_marginals(z, a, 0.1)
    assert_allclose(found.to_a, message(*found.a) - a, rtol=1e-8, atol=1e-11)
    assert_allclose(found.to_z, message(*found.z) - z, rtol=1e-8, atol=1e-11)


def test_uniform_and_useless_messages_take_the_guarded_way():
    z = message(np.array([-1.0, 2.0, 0.3]), 1.0)
    uniform, weak = np.zeros((2, 3)), np.stack([np.full(3, -1e-9), np.full(3, 1e-8)])
    assert_allclose(leaky_relu_forward(z, uniform, 0.1), leaky_relu_direct(z, 0.1))
    for back in (uniform, weak):
        assert_allclose(
            leaky_relu_backward(z, back, 0.1), np.stack([np.zeros(3), np.full(3, 1e-8)])
        )


def test_the_cut_normal_has_the_moments_of_mpmath():
    mp = pytest.importorskip("mpmath")
    with mp.workdps(40):
        for x in (-200.0, -40.0, -12.0, -5.001, -4.999, -1.0, 0.0, 3.0, 9.0):
            lam = mp.npdf(x) / mp.ncdf(x)
            truth = [lam, x + lam, 1 - lam * (x + lam)]
            assert_allclose(np.array(hazard(np.array(x))), np.array(truth, float), rtol=1e-12)


@pytest.mark.parametrize(
    ("mean", "variance", "label", "regularised", "truth"),
    [
        (
            (1, 0, -1),
            (1, 1, 1),
            0,
            False,
            ((0.88889075, 0.39365968), (-0.26595937, 0.19117708), (-0.24964144, 0.12426966)),
        ),
        (
            (1, 0, -1),
            (1, 1, 1),
            2,
            True,
            ((-10.119724, 10.053304), (-10.315325, 10.124811), (12.026390, 11.059124)),
        ),
        (
            (-3, 3, 0.5),
            (1e-4, 0.01, 1e4),
            0,
            True,
            ((19.928704, 13.199417), (-10, 10), (-10.011160, 10.000088)),
        ),
    ],
)
def test_argmax_sends_the_printed_messages(mean, variance, label, regularised, truth):
    found = argmax_backward(message(mean, variance), label, 0.1 if regularised else None)
    assert_allclose(found.T, truth, rtol=1e-7)


def test_the_largest_of_outputs_and_pixels_has_the_printed_weights():
    weights = win_probabilities(np.array([1.0, 0.0, -1.0]), np.ones(3))
    assert_allclose(weights, [0.75960606, 0.21356180, 0.026832141], rtol=5e-8)
    pool = MaxPool(2)
    variance = np.array([[[2, 0.5], [1e-3, 10]]])
    found = moments(pool.forward(message(np.zeros((1, 2, 2)), variance), 0))
    assert_allclose(np.ravel(found), [0, 0.7813125], rtol=1e-12)
