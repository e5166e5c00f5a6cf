"""The log-normal as a predictive, compared with SciPy and quadrature."""

import numpy as np
import scipy.stats
import torch
from scipy.integrate import quad

from bnnbench.methods.predictions.inversion import central_interval, quantile
from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import RealPredictive
from bnnbench.metrics.crps import crps
from bnnbench.metrics.ranked_logarithm import continuous_ranked_logarithmic_score
from tests.methods.problems import stream

END = -1.5


def log_normal(points: int = 6, outputs: int = 1) -> LogNormalPredictive:
    """Return some distributions above `END`."""
    rng, shape = stream(0), (points, outputs)
    means, stds = torch.randn(shape, generator=rng), 0.1 + torch.rand(shape, generator=rng)
    return LogNormalPredictive(torch.full(shape, END), means, stds)


def as_scipy(prediction: LogNormalPredictive):
    means, stds = prediction.log_means.double().numpy(), prediction.log_stds.double().numpy()
    return scipy.stats.lognorm(s=stds, loc=END, scale=np.exp(means))


def targets() -> torch.Tensor:
    return torch.tensor([-1.4, -1.0, 0.0, 0.7, 3.0, 30.0], dtype=torch.float64)[:, None]


def test_it_is_a_predictive_of_reals():
    assert isinstance(log_normal(), RealPredictive)
    assert len(log_normal()) == 6


def test_densities_cdfs_moments_and_quantiles_agree_with_scipy():
    prediction, known = log_normal(), as_scipy(log_normal())
    np.testing.assert_allclose(
        prediction.log_prob(targets()), known.logpdf(targets())[:, 0], rtol=1e-9
    )
    np.testing.assert_allclose(prediction.cdf(targets()), known.cdf(targets()), rtol=1e-9)
    np.testing.assert_allclose(prediction.mean, known.mean(), rtol=1e-9)
    np.testing.assert_allclose(prediction.variance, known.var(), rtol=1e-9)
    np.testing.assert_allclose(quantile(prediction, 0.03), known.ppf(0.03), rtol=1e-9)
    for found, expected in zip(central_interval(prediction, 0.9), known.interval(0.9), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_nothing_is_possible_up_to_the_lower_end():
    prediction = log_normal()
    for target in (torch.full((6, 1), END), torch.full((6, 1), END - 1)):
        assert prediction.log_prob(target).isneginf().all()
        assert not prediction.cdf(target).any()


def test_the_crps_is_the_integral_of_its_definition():
    prediction = log_normal()
    low = torch.full((6, 1), END - 2.0, dtype=torch.float64)
    for target in (targets(), low):
        expected = []
        for point, y in enumerate(target[:, 0].tolist()):
            law = scipy.stats.lognorm(
                s=float(prediction.log_stds[point]),
                loc=END,
                scale=np.exp(float(prediction.log_means[point])),
            )
            below = quad(lambda x, law=law: law.cdf(x) ** 2, END, max(y, END), limit=200)[0]
            above = quad(lambda x, law=law: law.sf(x) ** 2, max(y, END), np.inf, limit=200)[0]
            expected.append(below + above + max(END - y, 0.0))
        np.testing.assert_allclose(crps(prediction, target), expected, rtol=1e-6)


def test_the_ranked_logarithm_is_the_integral_of_its_definition():
    prediction, target = log_normal(), targets()
    expected = []
    for point, y in enumerate(target[:, 0].tolist()):
        std, mean = float(prediction.log_stds[point]), float(prediction.log_means[point])
        law = scipy.stats.lognorm(s=std, loc=END, scale=np.exp(mean))
        below = quad(lambda x, law=law: -law.logsf(x), END, y, limit=200)[0]
        above = quad(lambda x, law=law: -law.logcdf(x), y, np.inf, limit=200)[0]
        expected.append(below + above)
    np.testing.assert_allclose(
        continuous_ranked_logarithmic_score(prediction, target), expected, rtol=1e-6
    )


def test_a_row_of_outputs_is_one_event():
    prediction, target = log_normal(outputs=2), torch.rand(6, 2, generator=stream(1))
    each = as_scipy(prediction).logpdf(target)
    np.testing.assert_allclose(prediction.log_prob(target), each.sum(-1), rtol=1e-6)


def test_rescaling_is_a_change_of_units():
    prediction, there = log_normal(), 5 + 0.1 * targets()
    other = prediction.rescaled(5.0, 0.1)
    torch.testing.assert_close(other.log_prob(there), prediction.log_prob(targets()) - np.log(0.1))
    torch.testing.assert_close(other.cdf(there), prediction.cdf(targets()))
    torch.testing.assert_close(other.variance, 0.01 * prediction.variance)
