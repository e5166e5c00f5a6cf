"""Compared with the joint Gaussian of the terms, conditioned by linear algebra."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.message_passing.factors import residual, weighted_sum
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    of_extremes,
    random_messages,
)


@pytest.mark.parametrize("seed", range(5))
def test_message_times_message_is_the_exact_posterior_marginal(seed):
    generator = torch.Generator().manual_seed(seed)
    c = torch.randn(4, generator=generator, dtype=torch.float64)
    terms, back = random_messages(4, seed=seed), random_messages(1, seed=seed + 100)
    messages = weighted_sum.backward(c.unbind(), [terms[i] for i in range(4)], back[0])
    precision = torch.diag(terms.rho) + back.rho * torch.outer(c, c)
    covariance = torch.linalg.inv(precision)
    mean = covariance @ (terms.tau + back.tau * c)
    for i, message in enumerate(messages):
        marginal = message * terms[i]
        assert marginal.mean.item() == pytest.approx(mean[i].item(), rel=1e-10, abs=1e-12)
        assert marginal.variance.item() == pytest.approx(covariance[i, i].item(), rel=1e-10)
    forward = weighted_sum.forward(c.unbind(), [terms[i] for i in range(4)])
    assert forward.mean.item() == pytest.approx((c @ terms.mean).item())
    assert forward.variance.item() == pytest.approx((c**2 @ terms.variance).item())


def test_a_uniform_sum_or_a_zero_coefficient_sends_uniform_messages():
    terms = [random_messages(3, seed=i) for i in range(3)]
    back = random_messages(3, seed=9)
    for message in weighted_sum.backward(
        (1.0, 2.0, 3.0), terms, Gaussian.uniform(3, pattern=back.rho)
    ):
        assert (message.tau == 0).all()
        assert (message.rho == 0).all()
    ignored = weighted_sum.backward((0.0, 2.0, 3.0), terms, back)[0]
    assert (ignored.tau == 0).all()
    assert (ignored.rho == 0).all()


def test_a_term_hears_of_a_narrow_sum_beside_a_far_larger_term():
    # Subtracting its variance 1e12 from the sum of variances would lose the other one.
    terms = [Gaussian(torch.tensor([m / v]).double(), torch.tensor([1 / v]).double())
             for m, v in ((1.0, 1e12), (2.0, 1e-8))]  # fmt: skip
    back = Gaussian(torch.tensor([5e6]).double(), torch.tensor([1e6]).double())
    message = weighted_sum.backward((1.0, 1.0), terms, back)[0]
    assert message.variance.item() == pytest.approx(1e-6 + 1e-8, rel=1e-12)
    assert message.mean.item() == pytest.approx(3.0, rel=1e-12)


@given(
    terms=st.lists(extreme, min_size=1, max_size=5),
    back=extreme,
    coefficient=st.sampled_from([0.0, 1e-20, 0.25, 1.0, -3.0]),
    dtype=dtypes,
)
@settings(max_examples=200)
def test_no_message_is_ever_invalid(terms, back, coefficient, dtype):
    messages = [of_extremes([term], dtype) for term in terms]
    coefficients = [1.0, *[coefficient] * (len(terms) - 1)]
    assert weighted_sum.forward(coefficients, messages).is_valid().all()
    for message in weighted_sum.backward(coefficients, messages, of_extremes([back], dtype)):
        assert message.is_valid().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_an_element_does_not_depend_on_its_place(dtype):
    left, right, back = (random_messages(5, 11, seed=i, dtype=dtype) for i in range(3))
    assert_position_does_not_matter(residual.forward, left, right)
    assert_position_does_not_matter(
        lambda left, right, back: residual.backward(left, right, back)[1], left, right, back
    )
