"""Samples have the distribution that a prediction states, by its own or known cdf."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    CategoricalSummary,
    GaussianPredictive,
)
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.sampling import sampled
from bnnbench.methods.predictions.student import StudentPredictive

MEANS = torch.tensor([[[0.0], [5.0]], [[3.0], [9.0]]])
COUNT = 4000


def rng():
    return torch.Generator().manual_seed(0)


class ByCdf:
    """A logistic distribution that answers with its cdf alone."""

    mean, variance = torch.zeros(3, 1), torch.full((3, 1), np.pi**2 / 3)

    def cdf(self, target):
        return torch.sigmoid(target.double())


def test_a_sample_of_a_mixture_has_one_component_at_all_points():
    samples = sampled(GaussianPredictive(MEANS, torch.full_like(MEANS, 0.01)), COUNT, rng())
    assert samples.shape == (COUNT, 2, 1)
    first = samples[:, 0, 0] > 1.5
    assert torch.equal(first, samples[:, 1, 0] > 7)
    assert first.double().mean() == pytest.approx(0.5, abs=0.04)
    within = (samples[first] - MEANS[1]) / 0.1
    assert stats.kstest(within[:, 1, 0].numpy(), "norm").pvalue > 1e-3


def test_samples_of_student_are_of_its_scale_and_degrees():
    shape = torch.ones(1, 1, 1)
    samples = sampled(StudentPredictive(2 * shape, 3 * shape, 4 * shape), COUNT, rng())
    assert stats.kstest(samples[:, 0, 0].numpy(), stats.t(4, 2, 3).cdf).pvalue > 1e-3


def test_samples_of_samples_are_among_them():
    given = torch.tensor([[[1.0]], [[2.0]], [[4.0]]])
    samples = sampled(SamplePredictive(given), COUNT, rng())
    values, counts = samples.unique(return_counts=True)
    assert values.tolist() == [1, 2, 4]
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_other_predictions_are_inverted_at_every_point_apart():
    samples = sampled(ByCdf(), 200, rng())[..., 0].numpy()
    assert all(stats.kstest(samples[:, point], "logistic").pvalue > 1e-3 for point in range(3))
    assert abs(stats.spearmanr(samples[:, 0], samples[:, 1]).statistic) < 0.3


def test_points_that_are_inverted_do_not_share_their_levels():
    one = sampled(ByCdf(), 1, rng())[0, :, 0]
    assert len(one.unique()) == 3
    many = sampled(ByCdf(), 20, rng())[..., 0]
    assert len(many.mean(0).unique()) == 3


@pytest.mark.parametrize("summary", [False, True])
def test_samples_of_classes_have_their_frequencies(summary):
    probs = torch.tensor([[[0.8, 0.2]], [[0.4, 0.6]]])
    prediction = CategoricalPredictive(probs.log())
    given = prediction.summary() if summary else prediction
    assert isinstance(given, CategoricalSummary) == summary
    samples = sampled(given, COUNT, rng())
    assert samples.shape == (COUNT, 1)
    assert samples.double().mean() == pytest.approx(0.4, abs=0.04)


def test_what_has_no_distribution_is_refused():
    levels = torch.tensor([0.1, 0.9])
    with pytest.raises(CannotAnswer, match="no cdf"):
        sampled(QuantilePredictive(levels, torch.zeros(3, 1, 2)), 1, rng())
    with pytest.raises(ValueError, match="at least one sample"):
        sampled(ByCdf(), 0, rng())
