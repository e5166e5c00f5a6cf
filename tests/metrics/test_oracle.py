"""Scores against a known distribution, compared with quadrature and closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate
from scipy.stats import norm, spearmanr

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.metrics.oracle import (
    Law,
    claimed_variance,
    earned_variance,
    epistemic_rank,
    excess_risk,
)

DOUBLE = torch.float64


def law(truth, noise_std, exact_std=None):
    values = torch.tensor(truth, dtype=DOUBLE)
    stds = torch.ones(len(values)) if exact_std is None else torch.tensor(exact_std)
    return Law(values, noise_std, stds.double())


def gaussians(means, variances):
    """Return a mixture; both arguments are components x points."""
    tensors = (torch.tensor(v, dtype=DOUBLE)[..., None] for v in (means, variances))
    return GaussianPredictive(*tensors)


def classes(probabilities):
    """Return a mixture; the argument is draws x points x classes."""
    return CategoricalPredictive(torch.tensor(probabilities, dtype=DOUBLE).log())


def test_excess_risk_of_one_gaussian_is_the_divergence_of_two():
    found = excess_risk(gaussians([[0.3]], [[0.05]]), law([[0.1]], 0.2))
    p, q, gap = 0.2**2, 0.05, 0.2
    closed = 0.5 * (p / q + gap**2 / q - 1 + math.log(q / p))
    assert float(found) == pytest.approx(closed, abs=1e-12)
    assert float(found) == pytest.approx(0.4115717756571048, abs=1e-12)


def test_excess_risk_of_a_mixture_agrees_with_adaptive_quadrature():
    means, variances = [[-0.5], [0.4], [1.5]], [[0.3], [0.2], [0.9]]
    found = excess_risk(gaussians(means, variances), law([[0.2]], 0.5))

    def integrand(y):
        q = np.mean([norm.pdf(y, m[0], v[0] ** 0.5) for m, v in zip(means, variances, strict=True)])
        p = norm.pdf(y, 0.2, 0.5)
        return p * (norm.logpdf(y, 0.2, 0.5) - np.log(q))

    truth, _ = integrate.quad(integrand, -6, 6, epsabs=1e-12)
    assert float(found) == pytest.approx(truth, abs=1e-8)


def test_excess_risk_of_classes():
    prediction = classes([[[0.5, 0.3, 0.2]]])
    found = excess_risk(prediction, law([[0.7, 0.2, 0.1]], None))
    assert float(found) == pytest.approx(0.0851228259572216, abs=1e-12)


def test_excess_risk_is_of_the_mixture_and_not_of_its_draws():
    found = excess_risk(classes([[[0.9, 0.1]], [[0.3, 0.7]]]), law([[0.6, 0.4]], None))
    assert float(found) == pytest.approx(0.0, abs=1e-12)


def test_a_class_that_cannot_be_has_no_part_in_the_risk():
    prediction = classes([[[1.0, 0.0]]])
    assert float(excess_risk(prediction, law([[1.0, 0.0]], None))) == 0
    assert float(excess_risk(prediction, law([[0.5, 0.5]], None))) == math.inf


def test_the_law_itself_has_no_excess_risk():
    found = excess_risk(gaussians([[0.1, -2.0]], [[0.04, 0.04]]), law([[0.1], [-2.0]], 0.2))
    np.testing.assert_allclose(found, 0, atol=1e-12)


def test_claimed_and_earned_variances_of_real_targets():
    prediction = gaussians([[0.0, 1.0], [2.0, 1.0]], [[0.25, 0.5], [0.25, 0.5]])
    known = law([[0.5], [3.0]], 0.5)
    np.testing.assert_allclose(claimed_variance(prediction, known), [1.0, 0.25])
    np.testing.assert_allclose(earned_variance(prediction, known), [0.25, 4.0])


def test_claimed_and_earned_variances_of_classes_are_sums_over_them():
    prediction = classes([[[0.8, 0.2]], [[0.4, 0.6]]])
    known = law([[0.5, 0.5]], None)
    np.testing.assert_allclose(claimed_variance(prediction, known), [2 * 0.2**2])
    np.testing.assert_allclose(earned_variance(prediction, known), [2 * 0.1**2])


def test_the_rank_is_spearmans():
    means = np.random.default_rng(0).normal(size=(7, 9))
    prediction = gaussians(means.tolist(), np.full((7, 9), 0.01).tolist())
    exact = np.random.default_rng(1).uniform(0.1, 1, 9)
    found = epistemic_rank(prediction, law(np.zeros((9, 1)).tolist(), 0.1, exact.tolist()))
    assert float(found) == pytest.approx(spearmanr(means.var(0), exact).statistic)


def test_a_single_function_claims_nothing_and_has_no_rank():
    prediction, known = gaussians([[0.0, 1.0]], [[0.01, 0.01]]), law([[0.0], [0.0]], 0.1)
    np.testing.assert_array_equal(claimed_variance(prediction, known), [0, 0])
    with pytest.raises(CannotAnswer, match="all are equal"):
        epistemic_rank(prediction, known)


def test_a_prediction_with_less_noise_than_the_law_does_not_tell_it_from_the_function():
    with pytest.raises(CannotAnswer, match="needed predictions with the model's noise"):
        claimed_variance(gaussians([[0.0]], [[0.001]]), law([[0.0]], 0.1))
