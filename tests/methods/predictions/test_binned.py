"""Masses of bins against closed forms."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.binned import binned
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.sets import IntervalPredictive
from bnnbench.methods.predictions.student import StudentPredictive


def test_a_mixture_has_the_masses_of_its_cdf():
    means = torch.tensor([-1.0, 4.0], dtype=torch.float64)[:, None, None].expand(2, 3, 1)
    bins = binned(GaussianPredictive(means, torch.full_like(means, 0.25)), 40)
    expected = stats.norm.cdf(bins.edges[..., None], [-1.0, 4.0], 0.5).mean(-1)
    expected[:, 0], expected[:, -1] = 0, 1
    np.testing.assert_allclose(bins.masses, np.diff(expected), atol=1e-15)
    ends = stats.norm.cdf(bins.edges[:, [0, -1], None], [-1.0, 4.0], 0.5).mean(-1)
    np.testing.assert_allclose(ends, [[1e-6, 1 - 1e-6]] * 3, rtol=1e-3)


def test_a_heavy_tail_ends_at_its_quantile():
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    bins = binned(StudentPredictive(0 * one, one, 3 * one), 10)
    assert bins.edges[0, -1] == pytest.approx(stats.t.ppf(1 - 1e-6, 3), rel=1e-6)
    assert bins.masses.sum() == pytest.approx(1)


def test_samples_and_point_masses_keep_their_mass():
    samples = torch.tensor([0.0, 1.0, 1.0, 9.0], dtype=torch.float64)[:, None, None]
    bins = binned(SamplePredictive(samples), 9)
    # Bins are open below, but the first has the mass at its lower edge.
    assert bins.masses[0].tolist() == [0.75, *7 * [0.0], 0.25]
    point = binned(GaussianPredictive(torch.full((1, 1, 1), 2.0), torch.zeros(1, 1, 1)), 5)
    assert point.masses.sum() == 1
    assert np.ptp(point.edges) == 0


def test_stated_quantiles_are_the_edges():
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    values = torch.tensor([[[-1.0, 0.0, 4.0]]], dtype=torch.float64)
    bins = binned(QuantilePredictive(levels, values), 300)
    assert bins.edges.tolist() == [[-1.0, 0.0, 4.0]]
    np.testing.assert_allclose(bins.masses, [[0.5, 0.5]])


@pytest.mark.parametrize(
    "prediction",
    [
        IntervalPredictive(0.9, torch.zeros(2, 1), torch.ones(2, 1)),
        GaussianPredictive(torch.zeros(1, 2, 2), torch.ones(1, 2, 2)),
        QuantilePredictive(torch.tensor([0.5]), torch.zeros(2, 1, 1)),
    ],
    ids=["interval", "two outputs", "one quantile"],
)
def test_what_has_no_bins_says_so(prediction):
    with pytest.raises(CannotAnswer):
        binned(prediction, 10)
