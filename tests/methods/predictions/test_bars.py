"""Histograms with half-normal tails, by quadrature and by SciPy's half-normal."""

import itertools

import numpy as np
import pytest
import scipy.stats
import torch
from scipy.integrate import quad

from bnnbench.methods.predictions.bars import BarPredictive
from bnnbench.methods.predictions.inversion import quantile
from bnnbench.methods.predictions.predictive import RealPredictive
from tests.methods.problems import stream

BORDERS = torch.tensor([-2.0, -1.0, 0.5, 0.7, 2.0], dtype=torch.float64)
LOG_BARS = torch.randn(3, 4, generator=stream(0), dtype=torch.float64).log_softmax(1)
BARS = BarPredictive(BORDERS, LOG_BARS)
PIECES = [-12, -2, -1, 0.5, 0.7, 2, 14]


def density(y: float, point: int = 0) -> float:
    return float(BARS.log_prob(torch.full((3, 1), y, dtype=torch.float64)).exp()[point])


def integral(function) -> float:
    return sum(quad(function, *ends)[0] for ends in itertools.pairwise(PIECES))


def test_it_is_a_density_with_the_moments_of_its_integrals():
    assert isinstance(BARS, RealPredictive)
    assert len(BARS) == 3
    for point in range(3):
        mass, one, two = (
            integral(lambda y, k=k, point=point: y**k * density(y, point)) for k in range(3)
        )
        assert mass == pytest.approx(1, abs=1e-7)
        assert float(BARS.mean[point, 0]) == pytest.approx(one, abs=1e-6)
        assert float(BARS.variance[point, 0]) == pytest.approx(two - one**2, rel=1e-5)


def test_bars_have_their_probabilities_and_tails_are_half_normals():
    probs = LOG_BARS.exp()
    assert density(0.0) == pytest.approx(float(probs[0, 1]) / 1.5)
    # Half of a tail is within its bar, whose width is 1.3 above and 1 below.
    right = scipy.stats.halfnorm(0.7, 1.3 / scipy.stats.halfnorm.ppf(0.5))
    left = scipy.stats.halfnorm(0, 1 / scipy.stats.halfnorm.ppf(0.5))
    assert density(3.1) == pytest.approx(float(probs[0, 3]) * right.pdf(3.1))
    assert density(-2.5) == pytest.approx(float(probs[0, 0]) * left.pdf(1.5))


@pytest.mark.parametrize("at", [-3.0, -1.5, -0.9, 0.6, 1.0, 4.0])
def test_the_cdf_is_the_integral_of_the_density(at):
    below = sum(
        quad(density, low, min(high, at))[0] for low, high in itertools.pairwise(PIECES) if low < at
    )
    found = BARS.cdf(torch.full((3, 1), at, dtype=torch.float64))
    assert float(found[0, 0]) == pytest.approx(below, abs=1e-7)


def test_quantiles_invert_the_cdf_and_units_can_be_changed():
    at = quantile(BARS, 0.3)
    np.testing.assert_allclose(BARS.cdf(at), 0.3, atol=1e-8)
    other = BARS.rescaled(5.0, 0.1)
    torch.testing.assert_close(other.log_prob(5 + 0.1 * at), BARS.log_prob(at) - np.log(0.1))
    torch.testing.assert_close(other.variance, 0.01 * BARS.variance)


def test_it_is_the_bar_distribution_of_tabpfn():
    shared = pytest.importorskip("tabpfn.architectures.shared.bar_distribution")
    known = shared.FullSupportBarDistribution(BORDERS)
    for at in (-3.0, -1.5, 0.6, 4.0):
        target = torch.full((3, 1), at, dtype=torch.float64)
        torch.testing.assert_close(BARS.log_prob(target), -known(LOG_BARS, target[:, 0]))
        torch.testing.assert_close(BARS.cdf(target), known.cdf(LOG_BARS, target))
    torch.testing.assert_close(BARS.mean[:, 0], known.mean(LOG_BARS))


def test_what_is_no_histogram_is_refused():
    with pytest.raises(ValueError, match="increasing borders"):
        BarPredictive(BORDERS.flip(0), LOG_BARS)
    with pytest.raises(ValueError, match=r"got 4 borders and 4 bars"):
        BarPredictive(BORDERS[:4], LOG_BARS)
    with pytest.raises(ValueError, match="sum to 1; got a sum of 2"):
        BarPredictive(BORDERS, LOG_BARS + np.log(2))
