"""Antiderivatives of densities of sums of uniforms, by rational arithmetic and sampling."""

import math
from fractions import Fraction

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.integration import reference
from bnnbench.methods.integration.sums import SumOfUniforms, antiderivative
from tests.methods.integration.oracle import antiderivative as exact
from tests.methods.problems import stream


def uniform(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=stream(seed), dtype=torch.float64)


# Up to twelve orders of magnitude apart, equal, and 0.
WIDTHS = st.lists(
    st.one_of(
        st.sampled_from([0.0, 1.0, 0.5, 1e-3, 1e-12]),
        st.floats(-12, 0).map(lambda exponent: 10**exponent),
    ),
    min_size=1,
    max_size=7,
).filter(lambda widths: sum(width > 0 for width in widths) > 1)


@settings(max_examples=150)
@given(WIDTHS, st.floats(-0.6, 0.6), st.integers(0, 4))
def test_antiderivatives_agree_with_rational_arithmetic(widths, place, order):
    reach = sum(widths)
    x = place * reach
    t = torch.tensor(widths, dtype=torch.float64)
    found = float(antiderivative(torch.tensor(x, dtype=torch.float64), t, order))
    wanted = float(exact(Fraction(x), [Fraction(w) for w in widths], order))
    # If two widths dominate, the density is steep: rounding x has this effect.
    second = sorted(widths)[-2]
    slack = 2e-12 + 1e-16 * reach / second
    peak = 1 / max(widths) if order == 0 else max(reach, 1e-300) ** (order - 1)
    assert found == pytest.approx(wanted, abs=slack * peak)


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 8, 20, 52])
def test_compiled_and_differentiable_antiderivatives_agree(count, order):
    widths = 10 ** (-3 * uniform(40, count))
    widths[:5, 1:] = 0
    x = (2 * uniform(40, seed=1) - 1) * 0.6 * widths.sum(-1)
    compiled = antiderivative(x, widths, order)
    torch.testing.assert_close(
        reference.antiderivative(x, widths, order), compiled, rtol=0, atol=1e-9 * compiled.max()
    )


LONG = pytest.mark.long


@pytest.mark.parametrize("count", [pytest.param(30, marks=LONG), pytest.param(52, marks=LONG), 102])
def test_many_uniforms_against_a_series_of_forty_digits(count):
    for family in (uniform(count), 10 ** (-6 * uniform(count))):
        widths = family.double()
        x = torch.tensor([0.0, 0.1, 0.3, 0.45], dtype=torch.float64) * widths.sum()
        found = antiderivative(x, widths, 0)
        wanted = [cosine_series(float(at), widths.tolist()) for at in x]
        error = (found - torch.tensor(wanted, dtype=torch.float64)).abs().max()
        assert error < 1e-10 * found.max()


def cosine_series(x: float, widths: list[float]) -> float:
    """Return the density at `x` from its Fourier series on the support."""
    with mpmath.workdps(40):
        t = [mpmath.mpf(w) for w in widths]
        period, total, k = mpmath.fsum(t), mpmath.mpf(1) / 2, 0
        while True:
            k += 1
            angles = [mpmath.pi * k * w / period for w in t]
            bound = mpmath.fprod(min(mpmath.mpf(1), 1 / a) for a in angles)
            if bound * k < mpmath.mpf(10) ** -20:
                return float(2 * total / period)
            term = mpmath.fprod(mpmath.sin(a) / a for a in angles)
            total += term * mpmath.cos(2 * mpmath.pi * k * mpmath.mpf(x) / period)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [3, 7])
def test_gradients_agree_with_differences(count, order):
    widths = (0.1 + uniform(2, count)).requires_grad_()
    x = (uniform(2, seed=1) - 0.5).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, t: antiderivative(x, t, order), (x, widths))


@pytest.mark.parametrize("count", [3, 7, 52])
def test_the_slope_of_the_cdf_is_the_density(count):
    widths, x = uniform(6, count), (uniform(6, seed=1) - 0.5).requires_grad_()
    (slope,) = torch.autograd.grad(antiderivative(x, widths, 1).sum(), x)
    torch.testing.assert_close(slope, antiderivative(x.detach(), widths, 0), rtol=1e-9, atol=1e-9)


def test_gradients_are_finite_where_widths_are_zero_and_beyond_the_support():
    widths = torch.tensor([[0.0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 1, 1e-9, 1, 0, 1]])
    widths = widths.double().requires_grad_()
    x = torch.tensor([0.3, 2.0, -0.2], dtype=torch.float64, requires_grad=True)
    for order in range(5):
        gradients = torch.autograd.grad(antiderivative(x, widths, order).sum(), (x, widths))
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_order_permutation_and_scale_of_the_widths():
    widths, x = uniform(5, 12), uniform(5, seed=1) * 3
    density = antiderivative(x, widths, 0)
    shuffled = widths[:, torch.randperm(12, generator=stream(2))]
    close = {"rtol": 1e-11, "atol": 1e-13}
    torch.testing.assert_close(antiderivative(x, shuffled, 0), density, **close)
    torch.testing.assert_close(antiderivative(-x, widths, 0), density, **close)
    torch.testing.assert_close(antiderivative(8 * x, 8 * widths, 0), density / 8, **close)
    nothing = torch.cat([widths, torch.full((5, 3), 1e-15, dtype=torch.float64)], 1)
    torch.testing.assert_close(antiderivative(x, nothing, 0), density, **close)


def test_a_width_may_shrink_to_nothing():
    widths, x = uniform(8), torch.linspace(-2, 2, 9, dtype=torch.float64)
    last = antiderivative(x, widths, 0)
    for width in (1e-4, 1e-6, 1e-8, 1e-10, 1e-13):
        more = torch.cat([widths, torch.tensor([width], dtype=torch.float64)])
        torch.testing.assert_close(
            antiderivative(x, more, 0), last, rtol=0, atol=10 * width**2 + 1e-11
        )


@pytest.mark.parametrize("count", [2, 5, 52])
def test_a_density_is_one(count):
    widths = 10 ** (-2 * uniform(count))
    reach = float(widths.sum()) / 2
    grid = torch.linspace(-reach, reach, 20_001, dtype=torch.float64)
    density, cdf = antiderivative(grid, widths, 0), antiderivative(grid, widths, 1)
    assert float(torch.trapezoid(density, grid)) == pytest.approx(1, abs=1e-6)
    assert (density >= -1e-12 * density.max()).all()
    assert (cdf.diff() >= -1e-12).all()
    far = torch.tensor([-math.inf, -1.01 * reach, 1.01 * reach, math.inf], dtype=torch.float64)
    assert antiderivative(far, widths, 1).tolist() == [0, 0, 1, 1]
    assert antiderivative(far, widths, 0).tolist() == [0, 0, 0, 0]


def test_against_sampling():
    widths = torch.tensor([1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05], dtype=torch.float64)
    draws = 200_000
    sample = ((uniform(draws, 7) - 0.5) * widths).sum(-1)
    for y in (-0.6, 0.0, 0.45):
        at = torch.tensor(y, dtype=torch.float64)
        wanted = float(antiderivative(at, widths, 1))
        error = math.sqrt(wanted * (1 - wanted) / draws)
        assert abs(float((sample <= y).double().mean()) - wanted) < 4 * error
        moments = (at - sample).clamp(min=0) ** 2 / 2
        error = float(moments.std()) / math.sqrt(draws)
        assert abs(float(moments.mean() - antiderivative(at, widths, 3))) < 4 * error


def test_points_may_share_their_widths():
    widths, x = uniform(3, 1, 9), 2 * uniform(3, 7, seed=1)
    apart = antiderivative(x, widths.expand(3, 7, 9), 0)
    assert torch.equal(antiderivative(x, widths, 0), apart)
    one = SumOfUniforms(torch.zeros(3, 1, dtype=torch.float64), widths)
    assert torch.equal(one.density(x), apart)
    assert antiderivative(x[:, :0], widths, 0).shape == (3, 0)


def test_a_cdf_is_the_same_however_often_it_is_asked_for(monkeypatch):
    one = SumOfUniforms(torch.zeros(6, dtype=torch.float64), uniform(6, 9))
    x = 2 * uniform(6, seed=1)
    wanted = antiderivative(x, one.widths, 1)
    assert torch.equal(one.cdf(x), wanted)
    assert torch.equal(one.cdf(x), wanted)
    assert torch.equal(one.cdf(x.expand(2, 6)), wanted.expand(2, 6))
    monkeypatch.setattr("bnnbench.methods.integration.sums.KEPT_BYTES", 1)
    other = SumOfUniforms(one.centre, one.widths)
    assert torch.equal(other.cdf(x), wanted)
    assert "_series" not in vars(other)


def test_what_is_not_a_number_stays_visible():
    nan, t = math.nan, [1.0, 0.5]
    x = torch.tensor([nan, 0.1, 0.1], dtype=torch.float64)
    widths = torch.tensor([t, [1.0, nan], [math.inf, 1.0]], dtype=torch.float64)
    assert antiderivative(x, widths, 0).isnan().all()


def test_an_order_beyond_the_moments_kept_is_refused():
    with pytest.raises(ValueError, match="order from 0 to 4"):
        antiderivative(torch.zeros(()), torch.ones(2), 5)
