"""Moments of products, by enumeration of a few values."""

import itertools
from math import log

import numpy as np
import pytest
import torch
from scipy.special import expit, ndtr
from scipy.stats import laplace

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.piecewise_exponential import piecewise_exponential
from bnnbench.methods.moments.units.product import product
from tests.methods.moments import truth
from tests.methods.moments.units.test_binary import EACH, normal


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


def distribution(x: np.ndarray) -> np.ndarray:
    return laplace(scale=1 / log(2)).cdf(x)


@EACH
def test_moments_are_those_of_a_laplace_distribution_function(mean, variance):
    exact_mean, exact_variance = truth.moments(distribution, mean, variance, breaks=[0])
    found = piecewise_exponential(normal(mean, variance))
    assert found.mean.item() == pytest.approx(exact_mean, rel=1e-11)
    assert found.variance.item() == pytest.approx(exact_variance, rel=1e-11, abs=1e-15)


def test_moments_of_wide_and_known_units_are_finite():
    wide_and_known = torch.tensor([3.0, -1.0, 0.0]), torch.tensor([1e8, 0.0, 1e8])
    found = piecewise_exponential(Moments(*wide_and_known))
    assert found.mean.tolist() == pytest.approx([ndtr(3e-4), 0.25, 0.5], abs=1e-4)
    assert found.variance.tolist() == pytest.approx([0.25, 0.0, 0.25], abs=1e-3)
    known = piecewise_exponential(Moments(torch.tensor([2.0, -1.0])))
    assert known.mean.tolist() == pytest.approx([0.875, 0.25])
    assert known.variance.tolist() == [0.0, 0.0]


def test_the_variance_is_wrong_for_small_deviations_as_the_paper_says():
    """The slopes at 0 are ln 2 / 2 and 1 / 4: the deviation is 39 % too large."""
    variance = 1e-4
    found = piecewise_exponential(normal(0.0, variance)).variance.item()
    _, exact = truth.moments(expit, 0.0, variance)
    assert (found / exact) ** 0.5 == pytest.approx(2 * log(2), rel=0.01)
