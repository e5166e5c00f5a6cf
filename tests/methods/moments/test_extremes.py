"""Results are finite in either precision, and independent of their place in a tensor."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import (
    heaviside,
    logistic_bernoulli,
    logistic_transform,
    normal_cdf,
    probit_unit,
)
from bnnbench.methods.moments.units.maximum import max_pool, maximum
from bnnbench.methods.moments.units.piecewise_exponential import piecewise_exponential
from bnnbench.methods.moments.units.product import product
from bnnbench.methods.moments.units.rectified import (
    absolute,
    leaky_relu,
    relu,
    relu_logistic,
)
from bnnbench.methods.moments.units.softmax import Softmax, log_probabilities


def other(x: Moments) -> Moments:
    """Return another unit for each, with a mean that is near or far."""
    assert x.variance is not None
    return Moments(0.5 * x.mean.flip(0) + 1, x.variance.flip(0))


FUNCTIONS = {
    "relu": relu,
    "leaky": lambda x: leaky_relu(x, 0.01),
    "paper": lambda x: leaky_relu(x, 0.01, "paper"),
    "leaky in torch": lambda x: leaky_relu(x, 0.01, backend="reference"),
    "paper in torch": lambda x: leaky_relu(x, 0.01, "paper", "reference"),
    "relu logistic": relu_logistic,
    "absolute": absolute,
    "heaviside": heaviside,
    "heaviside logistic": lambda x: heaviside(x, "logistic"),
    "ap2a": lambda x: logistic_bernoulli(x, "ap2a"),
    "ap2b": logistic_bernoulli,
    "transform": logistic_transform,
    "transform wide": lambda x: logistic_transform(x, "wide"),
    "probit": probit_unit,
    "normal cdf": normal_cdf,
    "piecewise": piecewise_exponential,
    "maximum": lambda x: maximum(x, other(x)),
    "paper maximum": lambda x: maximum(x, other(x), None, "paper"),
    "correlated maximum": lambda x: maximum(
        x, other(x), torch.minimum(x.variance, other(x).variance)
    ),
    "product": lambda x: product(x, other(x)),
}
ZERO_TO_ONE = ("heaviside", "heaviside logistic", "ap2a", "ap2b", "transform", "probit")
SLOPES = {"relu": 0.0, "relu logistic": 0.0, "absolute": -1.0} | dict.fromkeys(
    ("leaky", "paper", "leaky in torch", "paper in torch"), 0.01
)
EACH = pytest.mark.parametrize("name", FUNCTIONS)

MEANS = st.floats(-1e6, 1e6) | st.floats(-20, 20) | st.sampled_from([0.0, -0.0, 1e-30, -1e-30])
VARIANCES = st.floats(0, 1e8) | st.floats(0, 1) | st.sampled_from([0.0, 1e-45, 1e-30, 1e-12])
UNITS = st.lists(st.tuples(MEANS, VARIANCES), min_size=1, max_size=9)


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@settings(max_examples=20)
@given(units=UNITS)
def test_moments_and_gradients_are_finite_and_variances_not_negative(name, dtype, units):
    mean, variance = (
        torch.tensor(row, dtype=dtype, requires_grad=True) for row in zip(*units, strict=True)
    )
    found = FUNCTIONS[name](Moments(mean, variance))
    assert found.mean.isfinite().all()
    assert found.variance.isfinite().all()
    assert (found.variance >= 0).all()
    (found.mean.sum() + found.variance.sum()).backward()
    assert mean.grad.isfinite().all()
    assert variance.grad is None or variance.grad.isfinite().all()
    if name in SLOPES:
        # By Jensen's inequality, up to the rounding of one sum.
        least = torch.maximum(mean, SLOPES[name] * mean)
        # Kernels flush numbers below the smallest normal one to 0.
        rounding = torch.finfo(dtype).eps * least.abs() + torch.finfo(dtype).tiny
        assert (found.mean >= least - rounding).all()
    if name in ZERO_TO_ONE:
        assert ((found.mean >= 0) & (found.mean <= 1)).all()
        assert (found.variance <= 0.25 + torch.finfo(dtype).eps).all()


@pytest.mark.parametrize("rule", ["simplified", "centred", "logistic", "normal"])
@settings(max_examples=40)
@given(units=UNITS)
def test_class_probabilities_are_finite(rule: Softmax, units):
    mean, variance = (torch.tensor(row, requires_grad=True) for row in zip(*units, strict=True))
    found = log_probabilities(Moments(mean, variance), rule)
    assert found.isfinite().all()
    assert (found <= 0).all()
    found.sum().backward()
    assert mean.grad.isfinite().all()
    assert variance.grad.isfinite().all()


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_no_unit_depends_on_its_place(name, dtype):
    rng = torch.Generator().manual_seed(7)
    mean = torch.randn(8, 61, generator=rng, dtype=dtype) * 4
    variance = torch.rand(8, 61, generator=rng, dtype=dtype) * 3
    together = through(name, mean, variance)
    for row in (0, 3):
        # The same unit is at the flipped place of `other`.
        rows = [row, 7 - row]
        alone = through(name, mean[rows, 3:40].clone(), variance[rows, 3:40].clone())
        for whole, part in zip(together, alone, strict=True):
            assert whole[rows, 3:40].equal(part)


def through(name: str, mean: torch.Tensor, variance: torch.Tensor) -> list[torch.Tensor]:
    """Return moments, and the gradients of both by both."""
    given = mean.clone().requires_grad_(), variance.clone().requires_grad_()
    found = FUNCTIONS[name](Moments(*given))
    results = [found.mean, found.variance]
    for value in results[:2]:
        if value.requires_grad:
            results += torch.autograd.grad(
                value.sum(), given, retain_graph=True, materialize_grads=True
            )
    return results


def test_pooling_large_and_known_images_is_finite():
    rng = torch.Generator().manual_seed(3)
    mean = (torch.randn(2, 3, 6, 6, generator=rng) * 1e6).requires_grad_()
    variance = torch.rand(2, 3, 6, 6, generator=rng) * 1e8
    variance[:, :, ::2] = 0
    found = max_pool(Moments(mean, variance.requires_grad_()), 2)
    assert (found.variance >= 0).all()
    (found.mean.sum() + found.variance.sum()).backward()
    assert mean.grad.isfinite().all()
    assert variance.grad.isfinite().all()
