"""Quantiles where moments do not exist, are missing or are wrong."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from bnnbench.methods.ciber.predictive import AffinePredictive
from bnnbench.methods.predictions.inversion import quantile
from bnnbench.methods.predictions.student import StudentPredictive

LEVELS = (1e-4, 0.025, 0.5, 0.9, 0.999)


@dataclass(frozen=True)
class Stated:
    """A distribution of SciPy that states any moments."""

    law: object
    mean: Tensor
    variance: Tensor

    def __len__(self) -> int:
        return len(self.mean)

    def cdf(self, target: Tensor) -> Tensor:
        return torch.from_numpy(self.law.cdf(target.numpy()))  # pyright: ignore


def stated(law: object, mean: float, variance: float) -> Stated:
    one = torch.ones(1, 1, dtype=torch.float64)
    return Stated(law, mean * one, variance * one)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_quantiles_without_a_finite_variance_agree_with_scipy(scale):
    degrees = torch.tensor([0.8, 1.0, 1.5, 2.0, 2.1], dtype=torch.float64)[None, :, None]
    locations = torch.full_like(degrees, 7.0 * scale)
    prediction = StudentPredictive(locations, torch.full_like(degrees, scale), degrees)
    law = stats.t(degrees[0].numpy(), 7 * scale, scale)
    for level in LEVELS:
        np.testing.assert_allclose(quantile(prediction, level), law.ppf(level), rtol=1e-9)


def test_the_level_of_a_mixtures_quantile_is_the_one_asked_for():
    centres, shape = torch.tensor([-3.0, 5.0]), (2, 1, 1)
    prediction = StudentPredictive(
        centres.view(shape), torch.ones(shape), torch.full(shape, 1.5, dtype=torch.float64)
    )
    law = stats.t(1.5, centres.numpy(), 1)
    for level in LEVELS:
        assert law.cdf(quantile(prediction, level).item()).mean() == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize("mean", [0.0, -1e6, math.nan])
@pytest.mark.parametrize("variance", [1e-8, 1e30, math.inf, math.nan])
def test_wrong_moments_move_no_quantile(mean, variance):
    prediction = stated(stats.lognorm(2.0), mean, variance)
    for level in LEVELS:
        expected = stats.lognorm(2.0).ppf(level)
        assert quantile(prediction, level).item() == pytest.approx(expected, rel=1e-6)


def test_a_cdf_that_is_not_a_number_has_no_quantile():
    missing = stated(stats.norm(math.nan, 1), 0.0, 1.0)
    assert quantile(missing, 0.3).isnan().all()


@pytest.mark.parametrize("level", [0.02, 0.1, 0.5, 0.98])
def test_mass_that_the_moments_leave_out_counts(level):
    shape = (3, 5, 1)
    floor = torch.tensor([5e-3, -80.0, 80.0, 0.0]).expand(1, 5, 4)
    half_bases, centres = torch.full(shape, 0.3), torch.arange(3.0)[:, None, None].expand(shape)
    prediction = AffinePredictive(half_bases, floor, centres, torch.full((3, 5, 2), 0.2))
    found = prediction.cdf(quantile(prediction, level))
    np.testing.assert_allclose(found, level, rtol=1e-9)
