"""Moments of rectifiers, by quadrature and 120-digit arithmetic."""

from typing import Any

import mpmath
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.rectified import (
    absolute,
    leaky_relu,
    relu,
    relu_logistic,
)
from bnnbench.methods.moments.units.standard import (
    log_normal_cdf,
    mean_factor,
    normal_cdf,
    variance_ratio,
)
from tests.methods.moments import truth

CASES = [(0.0, 1.0), (0.3, 2.0), (-1.7, 0.6), (4.0, 9.0), (-6.0, 1.0), (2.5, 0.01), (-9.0, 1.0)]
BACKENDS = pytest.mark.parametrize("backend", ["fused", "reference"])
FLOATS = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


def normal(*rows: tuple[float, float], dtype: torch.dtype = torch.float64) -> Moments:
    mean, variance = torch.tensor(rows, dtype=dtype).T.contiguous()
    return Moments(mean, variance)


@BACKENDS
@pytest.mark.parametrize("slope", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_leaky_relu_has_the_moments_of_quadrature(case, slope, backend):
    found = leaky_relu(normal(case), slope, backend=backend)
    mean, variance = truth.moments(lambda x: np.where(x > 0, x, slope * x), *case, breaks=[0])
    assert found.mean.item() == pytest.approx(mean, rel=1e-11)
    assert found.variance.item() == pytest.approx(variance, rel=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_absolute_value_has_the_moments_of_quadrature(case):
    found = absolute(normal(case))
    mean, variance = truth.moments(np.abs, *case, breaks=[0])
    assert found.mean.item() == pytest.approx(mean, rel=1e-12)
    assert found.variance.item() == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("y", [-700.0, -30.0, -5.0, -0.5, 0.0, 0.5, 5.0, 30.0, 700.0])
def test_relu_of_a_logistic_input_follows_the_dilogarithm(y):
    found = relu_logistic(normal((1.75 * y, 1.75**2 * torch.pi**2 / 3)))
    with mpmath.workdps(400):
        y, scale = mpmath.mpf(y), mpmath.mpf(1.75)
        mean = scale * mpmath.log1p(mpmath.exp(y))
        second = -2 * scale**2 * mpmath.polylog(2, -mpmath.exp(y)).real
        assert found.mean.item() == pytest.approx(float(mean), rel=1e-12)
        assert found.variance.item() == pytest.approx(float(second - mean**2), rel=1e-12)


TAILS = [k / 8 for k in range(-8 * 36, 8 * 36 + 1, 3)]


def test_standard_functions_keep_their_digits_in_both_tails():
    a = torch.tensor(TAILS, dtype=torch.float64)
    ratio, factor, cdf = variance_ratio(a), mean_factor(a), normal_cdf(a)
    for k, x in enumerate(TAILS):
        # Differences in the lower tail lose y⁴, and e^(-y²/2) loses the rounding of y².
        assert abs(ratio[k].item() / truth.variance_ratio(x) - 1) < 4e-16 * (4 + x**4 * (x < 0))
        assert abs(factor[k].item() / truth.mean_factor(x) - 1) < 4e-16 * (4 + x**2)
        assert cdf[k].item() == pytest.approx(float(mpmath.ncdf(x)), rel=1e-12)


def test_standard_functions_of_single_precision_agree_with_double_precision():
    a = torch.linspace(-14, 14, 2001)
    for function in (variance_ratio, mean_factor, normal_cdf):
        assert function(a).equal(function(a.double()).float())


def test_logarithm_of_a_remote_tail_has_its_gradient():
    a = torch.tensor([-1e6, -1e3, 40.0], requires_grad=True)
    log_normal_cdf(a).sum().backward()
    assert a.grad.tolist() == pytest.approx([1e6, 1e3 + 1e-3, 0.0])


@pytest.mark.parametrize("function", [variance_ratio, mean_factor, normal_cdf, log_normal_cdf])
def test_standard_functions_have_the_gradients_of_finite_differences(function):
    a = torch.linspace(-6, 6, 41, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, a, eps=1e-5, atol=1e-9, rtol=1e-6)


def outputs(x: Moments) -> tuple[torch.Tensor, torch.Tensor]:
    assert x.variance is not None
    return x.mean, x.variance


FUNCTIONS = {
    "relu": relu,
    "leaky": lambda x: leaky_relu(x, 0.1),
    "paper": lambda x: leaky_relu(x, 0.1, "paper"),
    "reference": lambda x: leaky_relu(x, 0.1, backend="reference"),
    "paper reference": lambda x: leaky_relu(x, 0.1, "paper", "reference"),
    "absolute": absolute,
    "logistic": relu_logistic,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_finite_differences(name):
    mean = torch.linspace(-5, 5, 23, dtype=torch.float64).repeat(3).requires_grad_()
    variance = torch.tensor([0.3, 1, 7], dtype=torch.float64).repeat_interleave(23)
    variance.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda m, v: outputs(FUNCTIONS[name](Moments(m, v))), (mean, variance), eps=1e-6, atol=1e-9
    )


@BACKENDS
def test_gradients_keep_their_digits_in_the_tails(backend):
    """Compared with derivatives of the closed forms in 60-digit arithmetic."""
    slope, std = 0.1, 0.7
    for a in (-25.0, -12.0, -7.0, 7.0, 12.0):
        mean = torch.tensor([a * std], dtype=torch.float64, requires_grad=True)
        variance = torch.tensor([std**2], dtype=torch.float64, requires_grad=True)
        out = leaky_relu(Moments(mean, variance), 0.0 if a < 0 else slope, backend=backend)
        alpha = 0.0 if a < 0 else slope
        with mpmath.workdps(400):

            def moment(k, m, v, alpha=alpha):
                s = mpmath.sqrt(v)
                bend = 1 - mpmath.mpf(alpha)
                mu = m * alpha + bend * s * truth.mean_factor(m / s)
                if k == 0:
                    return mu
                cdf = mpmath.erfc(-m / s / mpmath.sqrt(2)) / 2
                cross = 2 * alpha * bend * cdf
                return v * (mpmath.mpf(alpha) ** 2 + cross + bend**2 * truth.variance_ratio(m / s))

            for k, value in enumerate(outputs(out)):
                found = torch.autograd.grad(value.sum(), (mean, variance), retain_graph=True)
                at = mpmath.mpf(mean.item()), mpmath.mpf(variance.item())
                for i, gradient in enumerate(found):
                    step = mpmath.mpf(10) ** -30
                    ends = [list(at), list(at)]
                    ends[0][i] -= step
                    ends[1][i] += step
                    exact = (moment(k, *ends[1]) - moment(k, *ends[0])) / (2 * step)
                    assert abs(gradient.item() / exact - 1) < 1e-9, (a, k, i)


@FLOATS
@pytest.mark.parametrize("name", [*FUNCTIONS])
def test_variance_0_is_the_deterministic_function(name, dtype):
    mean = torch.cat(
        [torch.randn(1000, generator=torch.Generator().manual_seed(1)), torch.zeros(1)]
    )
    mean = mean.to(dtype).requires_grad_()
    variance = torch.zeros_like(mean).requires_grad_()
    slope = {"relu": 0.0, "logistic": 0.0, "absolute": -1.0}.get(name, 0.1)
    found = FUNCTIONS[name](Moments(mean, variance))
    expected = F.leaky_relu(mean, slope)
    assert found.mean.equal(expected)
    assert not found.variance.any()
    alone = FUNCTIONS[name](Moments(mean))
    assert alone.mean.equal(expected)
    assert alone.variance is None
    (found.mean.sum() + found.variance.sum()).backward()
    (truth_gradient,) = torch.autograd.grad(F.leaky_relu(mean, slope).sum(), mean)
    # At the bend, any slope between the two is correct.
    torch.testing.assert_close(mean.grad[:-1], truth_gradient[:-1], rtol=1e-6, atol=0)
    assert min(slope, 1) <= mean.grad[-1] <= 1
    assert variance.grad.isfinite().all()
    if "paper" not in name:
        slopes = torch.where(mean > 0, 1.0, slope).to(dtype) ** 2
        torch.testing.assert_close(variance.grad[:-1], slopes[:-1], rtol=1e-5, atol=0)


def test_wrong_words_are_refused():
    # If types are checked, the call itself is refused.
    x: Any = normal((0.0, 1.0))
    wrong: Any = "wrong"
    with pytest.raises((ValueError, TypeCheckError), match=r"exact.*paper"):
        relu(x, wrong)
    with pytest.raises((ValueError, TypeCheckError), match=r"fused.*reference"):
        relu(x, backend=wrong)
