"""Compared with moments of products by algebra on a grid, and the variational bound."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from bnnbench.methods.message_passing.factors import product
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    gaussian,
    of_extremes,
    random_messages,
)

# Nodes that integrate polynomials up to degree 19 against N(0, 1) exactly.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(10)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def test_forward_has_the_moments_of_the_product_of_independent_variables():
    a, b = random_messages(20, seed=1), random_messages(20, seed=2)
    out = product.forward(a, b)
    for i in range(20):
        x = a.mean[i].item() + a.variance[i].sqrt().item() * NODES
        y = b.mean[i].item() + b.variance[i].sqrt().item() * NODES
        weight, xy = np.outer(WEIGHTS, WEIGHTS), np.outer(x, y)
        mean = (weight * xy).sum()
        assert out.mean[i].item() == pytest.approx(mean, rel=1e-10, abs=1e-12)
        assert out.variance[i].item() == pytest.approx((weight * (xy - mean) ** 2).sum())


def test_backward_is_the_expected_log_density_of_the_message_from_the_product():
    a, back = random_messages(20, seed=3), random_messages(20, seed=4)
    message = product.backward(a, back)
    for i in range(20):
        x = a.mean[i].item() + a.variance[i].sqrt().item() * NODES
        tau, rho = back.tau[i].item(), back.rho[i].item()

        def expected_log(b: float, x=x, tau=tau, rho=rho) -> float:
            return float((WEIGHTS * (tau * x * b - rho * (x * b) ** 2 / 2)).sum())

        # A quadratic in b: its value at 0 is 0, so two values give both coefficients.
        assert (expected_log(1) - expected_log(-1)) / 2 == pytest.approx(message.tau[i].item())
        assert -(expected_log(1) + expected_log(-1)) == pytest.approx(message.rho[i].item())


def test_variance_does_not_cancel_beside_large_means():
    a, b = gaussian([1e4], [1e-8], torch.float32), gaussian([1e4], [1e-8], torch.float32)
    assert product.forward(a, b).variance.item() == pytest.approx(2.0, rel=1e-6)


@given(a=extreme, b=extreme, dtype=dtypes)
@settings(max_examples=200)
def test_no_message_is_ever_invalid(a, b, dtype):
    if None not in (a[1], b[1]):  # a product needs proper marginals
        left, right = of_extremes([a], dtype), of_extremes([b], dtype)
        assert product.forward(left, right).is_valid().all()
        assert product.backward(left, right).is_valid().all()


def test_a_uniform_product_tells_neither_factor_anything():
    a = random_messages(5, seed=1)
    message = product.backward(a, Gaussian.uniform(5, pattern=a.rho))
    assert (message.tau == 0).all()
    assert (message.rho == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_an_element_does_not_depend_on_its_place(dtype):
    a, b = (random_messages(5, 11, seed=i, dtype=dtype) for i in range(2))
    assert_position_does_not_matter(product.forward, a, b)
    assert_position_does_not_matter(product.backward, a, b)
