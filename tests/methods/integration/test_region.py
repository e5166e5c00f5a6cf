"""Functions of boxes: ReLUs by rational arithmetic and sampling, weights by both."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.integration.integrals import density, expectation, volume, with_noise
from bnnbench.methods.integration.logistic import mean_logistic
from bnnbench.methods.integration.rectified import RectifiedSum
from bnnbench.methods.integration.region import Affine, Box, Rectified
from bnnbench.methods.integration.weights import smoothstep, triangle
from tests.methods.integration.oracle import rectified_density
from tests.methods.problems import stream

DRAWS = 200_000


def real(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


WIDTH = st.one_of(st.sampled_from([1.0, 0.5, 1e-6]), st.floats(0.01, 2))


@settings(max_examples=150)
@given(
    st.floats(-3, 3).filter(lambda v: abs(v) > 1e-3),
    st.floats(-2, 2),
    st.lists(WIDTH, min_size=1, max_size=3),
    st.floats(0.01, 3),
    st.floats(-3, 3),
)
def test_densities_through_a_relu_agree_with_rational_arithmetic(outgoing, centre, widths, base, y):
    function = RectifiedSum(real(0)[0], real(outgoing), real(centre), real(*widths)[None])
    found = float(function.plus(real(base, base)).density(real(y)))
    fractions = (Fraction(number) for number in (y, outgoing, centre))
    first, v, mu = fractions
    wanted = rectified_density(first, v, mu, [Fraction(w) for w in widths], Fraction(base))
    # At the edge of the support, over a width of 1e-6: rounding of y by 1e-16 moves it by 1e-10.
    assert found == pytest.approx(float(wanted), rel=1e-9, abs=5e-10 / base)


@pytest.mark.parametrize(
    "slopes",
    [
        [[1.0, -0.5, 0.8]],
        [[1.0, -0.5, 0.0], [0.0, 0.0, 0.8]],
        [[1.0, 0.0, 0.0], [0.0, -0.5, 0.0], [0.0, 0.0, 0.8]],
    ],
)
def test_rectified_functions_against_sampling(slopes):
    matrix = torch.tensor(slopes, dtype=torch.float64)
    offsets, outgoing = real(0.1, -0.05, 0.2)[: len(slopes)], real(1.2, -0.8, 0.5)[: len(slopes)]
    function = Rectified(real(0.2)[0], outgoing, Affine(offsets, matrix))
    box = Box(real(-0.4, -0.3, -0.6), real(0.2, 0.9, 0.5))
    base = 0.3
    unit = torch.rand(DRAWS, 5, generator=stream(3), dtype=torch.float64)
    weights = box.lower + unit[:, :3] * box.widths
    value = 0.2 + ((offsets + weights @ matrix.T).clamp(min=0) * outgoing).sum(-1)
    y = value + base * (unit[:, 3:].sum(-1) - 1)
    marginal = with_noise(function, box, real(base)[0])
    standard_error = math.sqrt(float(marginal.variance) / DRAWS)
    assert abs(float(y.mean() - marginal.mean)) < 4 * standard_error
    assert float(y.var()) == pytest.approx(float(marginal.variance), rel=0.02)
    for at in (-0.1, 0.2, 0.4, 0.9):
        cdf = float(marginal.cdf(real(at)))
        error = math.sqrt(cdf * (1 - cdf) / DRAWS)
        assert abs(float((y <= at).double().mean()) - cdf) <= 4 * error
        likelihood = triangle(base, at)(value)
        error = float(likelihood.std()) / math.sqrt(DRAWS)
        found = float(density(function, box, real(base)[0], real(at)))
        assert abs(float(likelihood.mean()) - found) <= 4 * error


@pytest.mark.parametrize("units", [1, 2, 3])
def test_the_slope_of_a_rectified_cdf_is_its_density(units):
    unit = torch.rand(4, 6, generator=stream(units), dtype=torch.float64)
    widths = unit[:, :units, None] * real(1, 0, 0)
    widths[:, 0, 1] = 0.7
    marginal = RectifiedSum(unit[:, 0], unit[:, 1 : 1 + units] - 0.3, unit[:, :units] - 0.5, widths)
    marginal = marginal.plus(real(0.4, 0.4))
    y = (3 * unit[:, 5] - 1).requires_grad_()
    (slope,) = torch.autograd.grad(marginal.cdf(y).sum(), y)
    torch.testing.assert_close(slope, marginal.density(y.detach()), rtol=1e-9, atol=1e-9)
    grid = torch.linspace(-4, 4, 1601, dtype=torch.float64)[:, None]
    mass = torch.trapezoid(marginal.density(grid), grid, dim=0)
    torch.testing.assert_close(mass, torch.ones_like(mass), rtol=0, atol=1e-5)
    first = torch.trapezoid(grid * marginal.density(grid), grid, dim=0)
    torch.testing.assert_close(first, marginal.mean, rtol=0, atol=3e-5)
    second = torch.trapezoid((grid - first) ** 2 * marginal.density(grid), grid, dim=0)
    torch.testing.assert_close(second, marginal.variance, rtol=0, atol=3e-5)


def test_volume_of_a_box_and_of_the_part_where_a_unit_is_on():
    box = Box(real(0, 0), real(2, 1))
    assert float(volume(box)) == 2
    # x + y > 1 excludes a triangle of area 1/2.
    assert float(volume(box, Affine(real(-1)[0], real(1, 1)))) == pytest.approx(1.5, rel=1e-15)


def test_a_triangular_weight_gives_the_density_of_the_sum_with_its_noise():
    box, function = Box(real(-0.5, -0.2, 0), real(0.5, 0.2, 0.3)), Affine(real(0.1), real(1, 2, -1))
    for y in (-0.6, 0.0, 0.3):
        found = expectation(function, box, triangle(0.4, y))
        wanted = density(function, box, real(0.4), real(y))
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-14)


def test_the_smoothstep_cubic_is_near_the_logistic_function():
    x = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    difference = smoothstep()(x) - x.sigmoid()
    assert float(difference.abs().max()) == pytest.approx(0.0330629, abs=1e-5)
    assert float(torch.trapezoid(difference**2, x)) ** 0.5 == pytest.approx(0.0623328, rel=0.01)
    box = Box(real(-1), real(2))
    collapsed = expectation(Affine(real(0)[0], real(1)), box, smoothstep())
    assert float(collapsed) == pytest.approx(float(mean_logistic(real(-1), real(2))), abs=0.03)


def test_gradients_of_a_density_through_a_relu():
    parameters = (real(0.3, 0.1), real(1.2, -0.7)[:, None], real(0.1, -0.1)[:, None])
    parameters = tuple(p.requires_grad_() for p in parameters)

    def found(offset, outgoing, centre):
        marginal = RectifiedSum(offset, outgoing, centre, real(0.5, 0.3)[None])
        return marginal.plus(real(0.4, 0.4)).density(real(0.35))

    assert torch.autograd.gradcheck(found, parameters)


def test_regions_that_are_none_are_refused():
    with pytest.raises(ValueError, match="lower bounds"):
        Box(real(1), real(0))
    twice = Affine(real(0, 0), real(1, 1).view(2, 1))
    with pytest.raises(ValueError, match="enter one unit"):
        Rectified(real(0)[0], real(1, 1), twice)
    both = torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="only in the first unit"):
        RectifiedSum(real(0)[0], real(1, 1), real(0, 0), both)
    with pytest.raises(ValueError, match="plus"):
        RectifiedSum(real(0)[0], real(1), real(0), both[:1]).density(real(0))
    with pytest.raises(ValueError, match="affine"):
        expectation(Rectified(real(0)[0], real(1), Affine(real(0), real(1)[None])),
                    Box(real(0), real(1)), smoothstep())  # fmt: skip
