"""Quantile-weighted scores and their definition, an integral of the pinball loss over levels."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats

from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.metrics import METRICS
from bnnbench.metrics.crps import crps
from tests.metrics.test_crps_of_cdf import ByCdf

WEIGHTS: dict[str, Callable] = {
    "wcrps_left": lambda a: (1 - a) ** 2,
    "wcrps_center": lambda a: a * (1 - a),
    "wcrps_right": lambda a: a**2,
}
TARGETS = [-30.0, 0.0, 1.3]


def by_levels(name: str, quantile: Callable, cdf: Callable, target: float) -> float:
    """Return the score by quadrature over levels, cut at the level of the target."""

    def loss(a: float) -> float:
        error = target - quantile(a)
        return 2 * error * (a - (error < 0)) * WEIGHTS[name](a)

    cut = float(np.clip(cdf(target), 1e-12, 1 - 1e-12))
    parts = (0, cut / 2, cut, (1 + cut) / 2, 1)
    return sum(integrate.quad(loss, *ends, limit=200, epsabs=1e-11)[0] for ends in pairwise(parts))


def scores(name: str, prediction, targets=TARGETS) -> np.ndarray:
    return (
        METRICS[name].score(prediction, torch.tensor(targets, dtype=torch.float64)[:, None]).numpy()
    )


def repeated(*values: list[float]) -> list[torch.Tensor]:
    """Return draws for as many points as there are targets."""
    return [torch.tensor(v).double()[:, None, None].expand(-1, len(TARGETS), 1) for v in values]


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_gaussian_and_students_t_have_the_integral_over_levels(name):
    for law, prediction in (
        (stats.norm(0.5, 2), GaussianPredictive(*repeated([0.5], [4.0]))),
        (stats.t(3, 0.5, 2), StudentPredictive(*repeated([0.5], [2.0], [3.0]))),
        (stats.lognorm(0.7), ByCdf(stats.lognorm(0.7).cdf, len(TARGETS))),
    ):
        expected = [by_levels(name, law.ppf, law.cdf, y) for y in TARGETS]
        np.testing.assert_allclose(scores(name, prediction), expected, rtol=2e-7)


@pytest.mark.long
@pytest.mark.parametrize("name", WEIGHTS)
def test_a_mixture_has_the_integral_over_levels(name):
    law = stats.norm([-1.0, 2.0], [0.3, 1.5])

    def cdf(x: float) -> float:
        return float(law.cdf(x).mean())

    def quantile(a: float) -> float:
        return optimize.brentq(lambda x: cdf(x) - a, -20, 25, xtol=1e-12) if 0 < a < 1 else 0.0

    prediction = GaussianPredictive(*repeated([-1.0, 2.0], [0.09, 2.25]))
    expected = by_levels(name, quantile, cdf, 1.3)
    assert scores(name, prediction)[2] == pytest.approx(expected, rel=1e-6)


def predictions():
    means, variances = repeated([-1.0, 0.5, 2.0], [0.5, 1.0, 0.25])
    levels = torch.tensor([0.05, 0.3, 0.5, 0.9]).double()
    grid = torch.tensor([-2.0, -0.5, 0.1, 3.0]).double().expand(len(TARGETS), 1, 4)
    return {
        "mixture": GaussianPredictive(means, variances),
        "student": StudentPredictive(means, variances, 4 * variances),
        "samples": SamplePredictive(means),
        "quantiles": QuantilePredictive(levels, grid),
    }


@pytest.mark.parametrize("kind", predictions())
def test_left_twice_the_centre_and_right_add_up_to_the_crps(kind):
    prediction = predictions()[kind]
    left, center, right = (scores(name, prediction) for name in WEIGHTS)
    expected = crps(prediction, torch.tensor(TARGETS, dtype=torch.float64)[:, None])
    np.testing.assert_allclose(left + 2 * center + right, expected, rtol=1e-7)


@pytest.mark.parametrize("name", WEIGHTS)
def test_samples_have_the_integral_over_their_quantiles(name):
    steps = np.array([-2.0, 0.1, 0.1, 4.0])
    prediction = SamplePredictive(repeated(steps.tolist())[0])
    # 2^14 levels in each step of the quantile function, whose loss is a polynomial there.
    a = (np.arange(4 * 2**14) + 0.5) / (4 * 2**14)
    q = steps[(4 * a).astype(int)]
    errors = np.array(TARGETS)[:, None] - q
    expected = (2 * errors * (a - (errors < 0)) * WEIGHTS[name](a)).mean(1)
    np.testing.assert_allclose(scores(name, prediction), expected, rtol=1e-7)


def test_quantiles_on_a_grid_have_the_weights_of_their_neighbourhoods():
    levels, values = np.array([0.1, 0.4, 0.8]), np.array([-1.0, 0.2, 2.0])
    grid = torch.from_numpy(values).expand(len(TARGETS), 1, 3)
    prediction = QuantilePredictive(torch.from_numpy(levels), grid)
    errors = np.array(TARGETS)[:, None] - values
    losses = 2 * errors * (levels - (errors < 0))
    cells = [0, 0.25, 0.6, 1]
    for name, weight in WEIGHTS.items():
        shares = [integrate.quad(weight, *c)[0] for c in pairwise(cells)]
        np.testing.assert_allclose(scores(name, prediction), losses @ shares, rtol=1e-12)


@pytest.mark.long
def test_the_scores_exist_however_heavy_the_other_tail_is():
    # The mass of a tail enters to the fourth power where the weight is 0 at its end.
    prediction = StudentPredictive(*repeated([0.0], [1.0], [0.4]))
    assert np.isinf(scores("crps", prediction)).all()
    assert np.isinf(scores("wcrps_left", prediction)).all()
    light = by_levels("wcrps_center", stats.t(0.4).ppf, stats.t(0.4).cdf, 1.3)
    assert scores("wcrps_center", prediction)[2] == pytest.approx(light, rel=1e-3)
