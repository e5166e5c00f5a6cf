"""Student's t as a predictive, compared with SciPy and quadrature."""

import numpy as np
import pytest
import scipy.stats
import torch
from scipy.integrate import quad

from bnnbench.methods.predictions.inversion import quantile
from bnnbench.methods.predictions.predictive import RealPredictive
from bnnbench.methods.predictions.student import StudentPredictive
from tests.methods.problems import stream


def student(draws: int = 1, points: int = 6, outputs: int = 1) -> StudentPredictive:
    """Return some locations, scales and degrees of freedom."""
    rng, shape = stream(0), (draws, points, outputs)
    locations = torch.randn(shape, generator=rng)
    scales = torch.rand(shape, generator=rng) + 0.2
    return StudentPredictive(locations, scales, 3 + 20 * torch.rand(shape, generator=rng))


def as_scipy(prediction: StudentPredictive):
    """Return SciPy's distributions of the components."""
    return scipy.stats.t(
        prediction.degrees.double(), prediction.locations.double(), prediction.scales.double()
    )


def test_it_is_a_predictive_of_reals():
    assert isinstance(student(), RealPredictive)
    assert len(student()) == 6


def test_densities_and_cdfs_agree_with_scipy():
    prediction, target = student(), torch.linspace(-3, 3, 6)[:, None]
    known = as_scipy(prediction)
    found = prediction.log_prob(target)
    np.testing.assert_allclose(found, known.logpdf(target)[0, :, 0], rtol=1e-10)
    np.testing.assert_allclose(prediction.cdf(target), known.cdf(target)[0], rtol=1e-10)


def test_moments_agree_with_scipy():
    prediction = student()
    np.testing.assert_allclose(prediction.mean, as_scipy(prediction).mean()[0], rtol=1e-10)
    np.testing.assert_allclose(prediction.variance, as_scipy(prediction).var()[0], rtol=1e-10)


def test_a_mixtures_moments_are_integrals_of_its_density():
    prediction = student(draws=3, points=1)

    def density(y):
        return float(prediction.log_prob(torch.tensor([[y]])).exp())

    mass, mean, square = (
        quad(lambda y, k=k: y**k * density(y), -200, 200, limit=500, points=[-5, 0, 5])[0]
        for k in range(3)
    )
    assert mass == pytest.approx(1, abs=1e-5)
    assert float(prediction.mean) == pytest.approx(mean, abs=1e-4)
    assert float(prediction.variance) == pytest.approx(square - mean**2, rel=1e-3)


def test_a_row_of_outputs_is_one_event():
    prediction = student(outputs=2)
    target = torch.randn(6, 2, generator=stream(1))
    each = as_scipy(prediction).logpdf(target)[0].sum(-1)
    np.testing.assert_allclose(prediction.log_prob(target), each, rtol=1e-10)


def test_rescaling_is_a_change_of_units():
    prediction, target = student(), torch.linspace(-3, 3, 6)[:, None].double()
    other, there = prediction.rescaled(5.0, 0.1), 5.0 + 0.1 * target
    torch.testing.assert_close(other.log_prob(there), prediction.log_prob(target) - np.log(0.1))
    torch.testing.assert_close(other.cdf(there), prediction.cdf(target))
    torch.testing.assert_close(other.variance, 0.01 * prediction.variance)


def test_quantiles_agree_with_scipy():
    prediction = student()
    np.testing.assert_allclose(
        quantile(prediction, 0.9), as_scipy(prediction).ppf(0.9)[0], rtol=1e-8
    )


def test_two_degrees_of_freedom_have_no_finite_variance():
    one = torch.ones(1, 1, 1)
    assert StudentPredictive(one, one, 2 * one).variance.isinf().all()
