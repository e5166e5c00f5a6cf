"""Summaries of real predictions against SciPy's distributions."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.quantiles import LEVELS
from bnnbench.methods.predictions.real_summary import RealSummary

MEANS, STDS = np.array([[-1.0], [0.5], [40.0]]), np.array([[0.1], [2.0], [7.0]])
TARGETS = np.array([[-1.2], [3.0], [41.0]])
TRUTH = stats.norm(MEANS, STDS)


def summary() -> RealSummary:
    """Return the summary of three draws that are equal."""
    draws = [torch.from_numpy(np.stack([one] * 3)) for one in (MEANS, STDS**2)]
    return RealSummary.of(GaussianPredictive(*draws), torch.from_numpy(TARGETS))


def test_moments_quantiles_density_and_cdf_are_those_of_the_distribution():
    made, at = summary(), torch.from_numpy(TARGETS)
    np.testing.assert_allclose(made.mean, MEANS)
    np.testing.assert_allclose(made.variance, STDS**2)
    for level in LEVELS:
        np.testing.assert_allclose(made.quantile(level), TRUTH.ppf(level), rtol=1e-6)
    np.testing.assert_allclose(made.log_prob(at), TRUTH.logpdf(TARGETS)[:, 0])
    np.testing.assert_allclose(made.cdf(at), TRUTH.cdf(TARGETS))


def test_in_another_unit_it_is_the_distribution_of_that_unit():
    made, scaled = summary().rescaled(3.0, 2.5), stats.norm(3.0 + 2.5 * MEANS, 2.5 * STDS)
    at = torch.from_numpy(3.0 + 2.5 * TARGETS)
    np.testing.assert_allclose(made.quantile(0.95), scaled.ppf(0.95), rtol=1e-6)
    np.testing.assert_allclose(made.log_prob(at), scaled.logpdf(at)[:, 0])
    np.testing.assert_allclose(made.cdf(at), scaled.cdf(at))
    assert math.isclose(made.variance[1, 0].item(), (2.5 * 2.0) ** 2)


def test_of_other_targets_and_levels_it_knows_nothing():
    other = torch.from_numpy(TARGETS + 0.01)
    for ask in (summary().log_prob, summary().cdf):
        with pytest.raises(CannotAnswer, match="own targets"):
            ask(other)
    with pytest.raises(CannotAnswer, match=r"no quantile at 0\.33"):
        summary().quantile(0.33)
