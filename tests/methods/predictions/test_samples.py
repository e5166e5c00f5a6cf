"""Samples as a predictive, compared with NumPy and SciPy."""

import numpy as np
import pytest
import scipy.stats
import torch

from bnnbench.engine.run.score import score
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.metrics import METRICS, value
from bnnbench.metrics.crps import crps_by_integration

RNG = np.random.default_rng(0)
DRAWS = RNG.gamma(2.0, size=(40, 7, 2))
TARGET = RNG.gamma(2.0, size=(7, 2))
PREDICTION = SamplePredictive(torch.from_numpy(DRAWS))


def test_it_is_a_predictive_without_a_density():
    assert isinstance(PREDICTION, Predictive)
    assert len(PREDICTION) == 7
    names = ("rmse", "log_likelihood")
    scores = score(PREDICTION, torch.from_numpy(TARGET), names)
    assert scores.values.keys() == {"rmse"}
    assert scores.unanswered["log_likelihood"] == "SamplePredictive has no log_prob"


def test_moments_cdf_and_quantiles_agree_with_the_empirical_distribution():
    np.testing.assert_allclose(PREDICTION.mean, DRAWS.mean(0))
    np.testing.assert_allclose(PREDICTION.variance, DRAWS.var(0))
    np.testing.assert_allclose(PREDICTION.cdf(torch.from_numpy(TARGET)), (DRAWS <= TARGET).mean(0))


@pytest.mark.parametrize("level", [0.01, 0.025, 0.05, 0.3, 0.5, 0.9, 0.975, 0.999])
def test_quantiles_invert_the_empirical_cdf(level):
    expected = np.quantile(DRAWS, level, axis=0, method="inverted_cdf")
    np.testing.assert_array_equal(PREDICTION.quantile(level), expected)


def test_the_crps_is_half_the_squared_energy_distance_to_the_target():
    found = METRICS["crps"].score(PREDICTION, torch.from_numpy(TARGET))
    expected = [
        np.mean([scipy.stats.energy_distance(DRAWS[:, n, k], TARGET[n, [k]]) ** 2 / 2
                 for k in range(2)])
        for n in range(7)
    ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.long
def test_the_crps_is_the_integral_of_the_squared_error_of_the_cdf():
    found = METRICS["crps"].score(PREDICTION, torch.from_numpy(TARGET))
    integrated = crps_by_integration(PREDICTION, torch.from_numpy(TARGET))
    np.testing.assert_allclose(found, integrated, rtol=0.05)  # the cdf has steps


@pytest.mark.parametrize("name", ["crps", "mae", "rmse", "mae_median", "mpiw_90"])
def test_scores_in_target_units_grow_with_the_unit(name):
    expected = 4 * value(METRICS[name], PREDICTION, torch.from_numpy(TARGET))
    rescaled = PREDICTION.rescaled(5.0, 4.0)
    found = value(METRICS[name], rescaled, 5 + 4 * torch.from_numpy(TARGET))
    assert found == pytest.approx(expected, rel=1e-10)


def test_packing_keeps_every_sample():
    again = SamplePredictive.unpack(PREDICTION.pack())
    assert torch.equal(again.samples, PREDICTION.samples)
