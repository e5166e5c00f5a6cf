"""Weighted mixtures of Gaussians, compared with SciPy, quadrature and samples."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from scipy.integrate import quad

from bnnbench.methods.predictions.inversion import central_interval, quantile
from bnnbench.methods.predictions.predictive import GaussianPredictive, RealPredictive
from bnnbench.methods.predictions.sampling import sampled
from bnnbench.methods.predictions.weighted import WeightedGaussianPredictive
from bnnbench.metrics.crps import crps
from tests.methods.problems import stream

POINTS = 4


def mixture(components: int = 3, outputs: int = 1) -> WeightedGaussianPredictive:
    """Return a mixture whose first point has only its last component."""
    rng, shape = stream(0), (components, POINTS, outputs)
    weights = torch.rand(components, POINTS, generator=rng, dtype=torch.float64)
    weights[:-1, 0] = 0
    means = 2 * torch.randn(shape, generator=rng, dtype=torch.float64)
    variances = torch.rand(shape, generator=rng, dtype=torch.float64) + 0.1
    return WeightedGaussianPredictive(weights / weights.sum(0), means, variances)


MIXTURE, TARGET = mixture(), torch.linspace(-2, 2, POINTS, dtype=torch.float64)[:, None]
NORMALS = scipy.stats.norm(MIXTURE.means[..., 0], MIXTURE.variances[..., 0].sqrt())
WEIGHTS = MIXTURE.weights.numpy()


def test_densities_and_cdfs_are_weighted_sums_of_scipys():
    assert isinstance(MIXTURE, RealPredictive)
    density = (WEIGHTS * NORMALS.pdf(TARGET[:, 0])).sum(0)
    np.testing.assert_allclose(MIXTURE.log_prob(TARGET).exp(), density, rtol=1e-12)
    cdf = (WEIGHTS * NORMALS.cdf(TARGET[:, 0])).sum(0)
    np.testing.assert_allclose(MIXTURE.cdf(TARGET)[:, 0], cdf, rtol=1e-12)


@pytest.mark.parametrize("point", range(POINTS))
def test_moments_are_integrals_of_the_density(point):
    def density(y: float) -> float:
        return float((WEIGHTS[:, point] * NORMALS.pdf(y)[:, point]).sum())

    one, two = (quad(lambda y, k=k: y**k * density(y), -20, 20, limit=200)[0] for k in (1, 2))
    assert float(MIXTURE.mean[point, 0]) == pytest.approx(one, abs=1e-8)
    assert float(MIXTURE.variance[point, 0]) == pytest.approx(two - one**2, rel=1e-8)


def test_the_crps_is_the_integral_of_squared_errors_of_the_cdf():
    found = crps(MIXTURE, TARGET)
    for point, target in enumerate(TARGET[:, 0].tolist()):

        def below(x: float, point: int = point) -> float:
            return float((WEIGHTS[:, point] * NORMALS.cdf(x)[:, point]).sum())

        left = quad(lambda x: below(x) ** 2, -20, target, limit=200)[0]
        right = quad(lambda x: (1 - below(x)) ** 2, target, 20, limit=200)[0]
        assert float(found[point]) == pytest.approx(left + right, rel=1e-6)


def test_with_equal_weights_it_is_the_mixture_of_draws():
    equal = WeightedGaussianPredictive(
        torch.full((3, POINTS), 1 / 3), MIXTURE.means, MIXTURE.variances
    )
    known = GaussianPredictive(MIXTURE.means, MIXTURE.variances)
    torch.testing.assert_close(equal.log_prob(TARGET), known.log_prob(TARGET))
    torch.testing.assert_close(equal.cdf(TARGET), known.cdf(TARGET))
    torch.testing.assert_close(equal.mean, known.mean)
    torch.testing.assert_close(equal.variance, known.variance)
    torch.testing.assert_close(crps(equal, TARGET), crps(known, TARGET), rtol=1e-6, atol=0)


def test_a_row_of_outputs_is_one_event_under_each_component():
    pair = mixture(outputs=2)
    target = torch.randn(POINTS, 2, generator=stream(1), dtype=torch.float64)
    each = scipy.stats.norm(pair.means, pair.variances.sqrt()).pdf(target).prod(-1)
    joint = (pair.weights.numpy() * each).sum(0)
    np.testing.assert_allclose(pair.log_prob(target).exp(), joint, rtol=1e-12)


def test_quantiles_invert_the_cdf():
    at = quantile(MIXTURE, 0.3)
    cdf = (WEIGHTS * NORMALS.cdf(at[:, 0])).sum(0)
    np.testing.assert_allclose(cdf, 0.3, atol=1e-8)
    low, high = central_interval(MIXTURE, 0.9)
    torch.testing.assert_close(MIXTURE.cdf(high) - MIXTURE.cdf(low), torch.full_like(low, 0.9))


def test_samples_have_its_cdf():
    samples = sampled(MIXTURE, 4000, stream(3))[..., 0].double().numpy()
    means, stds = MIXTURE.means[..., 0].numpy(), MIXTURE.variances[..., 0].sqrt().numpy()
    for point in range(POINTS):
        parts = scipy.stats.norm(means[:, point, None], stds[:, point, None])
        weights = WEIGHTS[:, point]
        known = partial(_weighted_cdf, parts, weights)
        assert scipy.stats.kstest(samples[:, point], known).pvalue > 1e-3


def _weighted_cdf(parts: Any, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return weights @ parts.cdf(values)


def test_rescaling_is_a_change_of_units():
    other, there = MIXTURE.rescaled(5.0, 0.1), 5.0 + 0.1 * TARGET
    torch.testing.assert_close(other.log_prob(there), MIXTURE.log_prob(TARGET) - np.log(0.1))
    torch.testing.assert_close(other.cdf(there), MIXTURE.cdf(TARGET))
    torch.testing.assert_close(other.variance, 0.01 * MIXTURE.variance)


@pytest.mark.parametrize(
    ("weights", "variances", "words"),
    [
        ([[0.5], [0.6]], [1.0, 1.0], "sum to 1 at every point; got .* a sum of 1.1"),
        ([[1.5], [-0.5]], [1.0, 1.0], "a least weight of -0.5"),
        ([[0.5], [0.5]], [1.0, 0.0], "positive variances; got 0"),
    ],
)
def test_what_is_no_mixture_is_refused(weights, variances, words):
    means = torch.zeros(2, 1, 1)
    with pytest.raises(ValueError, match=words):
        WeightedGaussianPredictive(
            torch.tensor(weights), means, torch.tensor(variances).view(2, 1, 1)
        )
