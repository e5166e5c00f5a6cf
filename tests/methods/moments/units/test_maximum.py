"""Moments of maxima, by quadrature, finite differences and deterministic pooling."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError
from scipy.stats import norm

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.maximum import max_pool, maximum, tree_maximum
from tests.methods.moments import truth

PAIRS = [
    ((0.0, 1.0), (0.0, 1.0)),
    ((1.0, 1.0), (-1.0, 2.0)),
    ((-3.0, 0.5), (0.2, 0.1)),
    ((2.0, 0.01), (2.1, 4.0)),
]


def normal(*rows: tuple[float, float], dtype: torch.dtype = torch.float64) -> Moments:
    mean, variance = torch.tensor(rows, dtype=dtype).T.contiguous()
    return Moments(mean, variance)


def quadrature(x: tuple[float, float], y: tuple[float, float], c: float) -> tuple[float, float]:
    """Return the moments of max(X, Y) by conditioning on X: Y given X is normal."""
    (m1, v1), (m2, v2) = x, y
    spread = (v2 - c**2 / v1) ** 0.5

    def given(one: np.ndarray, power: int) -> np.ndarray:
        mean = m2 + c / v1 * (one - m1)
        a = (mean - one) / spread
        density, cdf = norm.pdf(a), norm.cdf(a)
        if power == 1:
            return one * norm.cdf(-a) + mean * cdf + spread * density
        own = one**2 * norm.cdf(-a) + (mean**2 + spread**2) * cdf
        return own + (mean + one) * spread * density

    mean = truth.expectation(lambda one: given(one, 1), m1, v1)
    return mean, truth.expectation(lambda one: given(one, 2), m1, v1) - mean**2


@pytest.mark.parametrize("backend", ["fused", "reference"])
@pytest.mark.parametrize("correlation", [None, 0.0, 0.6, -0.9])
@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_has_the_moments_of_quadrature(pair, correlation, backend):
    x, y = pair
    c = (correlation or 0.0) * (x[1] * y[1]) ** 0.5
    covariance = None if correlation is None else torch.tensor([c], dtype=torch.float64)
    found = maximum(normal(x), normal(y), covariance, backend=backend)
    mean, variance = quadrature(x, y, c)
    assert found.mean.item() == pytest.approx(mean, rel=1e-10)
    assert found.variance.item() == pytest.approx(variance, rel=1e-9)


def test_a_perfectly_correlated_pair_is_its_greater_member():
    x, y = normal((1.0, 2.0), (0.5, 3.0), (-1.0, 1.0)), normal((0.5, 2.0), (0.5, 3.0), (2.0, 1.0))
    found = maximum(x, y, x.variance)
    assert found.mean.tolist() == [1.0, 0.5, 2.0]
    assert found.variance.tolist() == pytest.approx([2.0, 3.0, 1.0], rel=1e-15)


@pytest.mark.parametrize("rule", ["exact", "paper", "correlated"])
@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_gradients_of_a_pair_agree_with_finite_differences(rule, backend):
    rng = torch.Generator().manual_seed(3)
    m1, m2 = (torch.randn(20, generator=rng, dtype=torch.float64) * 2 for _ in range(2))
    v1, v2 = (torch.rand(20, generator=rng, dtype=torch.float64) + 0.1 for _ in range(2))
    m2[0] = m1[0]
    given = [t.requires_grad_() for t in (m1, v1, m2, v2)]

    def both(m1, v1, m2, v2):
        c = 0.5 * (v1 * v2).sqrt() if rule == "correlated" else None
        kind = "paper" if rule == "paper" else "exact"
        out = maximum(Moments(m1, v1), Moments(m2, v2), c, kind, backend)
        return out.mean, out.variance

    assert torch.autograd.gradcheck(both, given, eps=1e-6, atol=1e-8)


@pytest.mark.parametrize("rule", ["exact", "paper"])
def test_a_known_pair_has_its_maximum_and_its_gradient(rule):
    m1 = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    m2 = torch.tensor([2.0, -3.0, 3.0], requires_grad=True)
    zero = torch.zeros(3, requires_grad=True)
    found = maximum(Moments(m1, zero), Moments(m2, zero), None, rule)
    assert found.mean.tolist() == [2.0, -2.0, 3.0]
    assert found.variance.tolist() == [0.0, 0.0, 0.0]
    (found.mean.sum() + found.variance.sum()).backward()
    assert m1.grad.tolist() == [0.0, 1.0, 0.5]
    assert m2.grad.tolist() == [1.0, 0.0, 0.5]
    assert zero.grad.isfinite().all()
    assert maximum(Moments(m1), Moments(m2)).variance is None
    mixed = maximum(Moments(m1), Moments(m2, torch.ones(3)))
    torch.testing.assert_close(
        mixed.variance, maximum(Moments(m1, zero), Moments(m2, torch.ones(3))).variance
    )


def test_a_tree_joins_neighbours_and_lets_the_last_one_up():
    rows = [(0.5, 1.0), (-1.0, 2.0), (2.0, 0.5), (1.0, 1.0), (0.7, 0.3)]
    one, two, three, four, five = (normal(row) for row in rows)
    left = maximum(maximum(one, two), maximum(three, four))
    expected = maximum(left, five)
    found = tree_maximum(normal(*rows))
    assert found.mean.item() == expected.mean.item()
    assert found.variance.item() == expected.variance.item()
    assert tree_maximum(one).mean.item() == 0.5


def test_a_tree_of_independent_normals_is_near_to_simulation():
    rows = [(0.5, 1.0), (-1.0, 2.0), (2.0, 0.5), (1.0, 1.0)]
    rng = torch.Generator().manual_seed(0)
    draws = torch.randn(1_000_000, 4, generator=rng)
    greatest = draws * torch.tensor([r[1] for r in rows]).sqrt() + torch.tensor(
        [r[0] for r in rows]
    )
    greatest = greatest.amax(1)
    found = tree_maximum(normal(*rows))
    assert found.mean.item() == pytest.approx(greatest.mean().item(), abs=0.005)
    assert found.variance.item() == pytest.approx(greatest.var().item(), rel=0.03)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pooling_known_images_agrees_with_torch(size):
    images = torch.randn(2, 3, 4, 7, 8, generator=torch.Generator().manual_seed(2))
    expected = F.max_pool2d(images.flatten(0, 1), size).unflatten(0, (2, 3))
    assert max_pool(Moments(images), size).mean.equal(expected)
    found = max_pool(Moments(images, torch.zeros_like(images)), size)
    assert found.mean.equal(expected)
    assert not found.variance.any()


def test_windows_are_joined_rows_first():
    rng = torch.Generator().manual_seed(4)
    mean, variance = torch.randn(5, 4, 6, generator=rng), torch.rand(5, 4, 6, generator=rng)
    found = max_pool(Moments(mean, variance), 2)
    corner = [Moments(mean[:, i, j], variance[:, i, j]) for i in (2, 3) for j in (4, 5)]
    expected = maximum(maximum(corner[0], corner[1]), maximum(corner[2], corner[3]))
    assert found.mean[:, 1, 2].equal(expected.mean)
    assert found.variance[:, 1, 2].equal(expected.variance)
    assert found.mean.shape == (5, 2, 3)


@pytest.mark.parametrize("size", [2, 3])
def test_images_with_channels_last_are_pooled_alike_and_stay_so(size):
    rng = torch.Generator().manual_seed(5)
    mean, variance = torch.randn(2, 3, 7, 8, generator=rng), torch.rand(2, 3, 7, 8, generator=rng)
    expected = max_pool(Moments(mean, variance), size)
    last = [t.contiguous(memory_format=torch.channels_last)[None] for t in (mean, variance)]
    found = max_pool(Moments(*last), size)
    for value, other in ((found.mean, expected.mean), (found.variance, expected.variance)):
        assert value[0].equal(other)
        assert value[0].is_contiguous(memory_format=torch.channels_last)
    assert found.mean.shape == (1, 2, 3, 7 // size, 8 // size)


def test_usage_errors_are_reported():
    x = normal((0.0, 1.0))
    with pytest.raises(ValueError, match='variance="exact" with a covariance'):
        maximum(x, x, torch.zeros(1, dtype=torch.float64), "paper")
    wrong: Any = "wrong"
    with pytest.raises((ValueError, TypeCheckError), match=r"exact.*paper"):
        maximum(x, x, None, wrong)
