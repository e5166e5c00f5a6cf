"""Moments of products, by enumeration of a few values."""

import itertools

import torch

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.product import product


def moments(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return values.mean(-1), values.var(-1, correction=0)


def test_products_have_the_moments_of_all_pairs_of_values():
    rng = torch.Generator().manual_seed(1)
    one, two = (torch.randn(6, 3, generator=rng, dtype=torch.float64) for _ in range(2))
    pairs = torch.stack(
        [one[:, i] * two[:, j] for i, j in itertools.product(range(3), range(3))], -1
    )
    found = product(Moments(*moments(one)), Moments(*moments(two)))
    mean, variance = moments(pairs)
    torch.testing.assert_close(found.mean, mean)
    torch.testing.assert_close(found.variance, variance)


def test_a_known_factor_scales_the_other():
    x = Moments(torch.tensor([2.0, -3.0]), torch.tensor([1.0, 4.0]))
    known = Moments(torch.tensor([0.5, 10.0]))
    for found in (product(x, known), product(known, x)):
        assert found.mean.tolist() == [1.0, -30.0]
        assert found.variance.tolist() == [0.25, 400.0]
    assert product(known, known).variance is None
