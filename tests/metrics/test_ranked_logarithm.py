"""The continuous ranked logarithmic score against closed forms and SciPy's quadrature."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.methods.predictions.weighted import WeightedGaussianPredictive
from bnnbench.metrics import METRICS
from bnnbench.metrics.ranked_logarithm import continuous_ranked_logarithmic_score as crls
from tests.metrics.test_coverage import UniformPredictive
from tests.metrics.test_crps_of_cdf import ByCdf


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def by_quadrature(law, target: float) -> float:
    """Return the score by SciPy, from both logarithms."""
    parts = (
        (lambda x: -law.logsf(x), -math.inf, target - 5),
        (lambda x: -law.logsf(x), target - 5, target),
        (lambda x: -law.logcdf(x), target, target + 5),
        (lambda x: -law.logcdf(x), target + 5, math.inf),
    )
    return sum(integrate.quad(*part, limit=500, epsabs=1e-12)[0] for part in parts)


@pytest.mark.parametrize("target", [-2.0, 6.0])
def test_a_gaussian_and_students_t_have_their_integral(target):
    gaussian = GaussianPredictive(torch.zeros(1, 1, 1), torch.full((1, 1, 1), 2.25))
    expected = by_quadrature(stats.norm(0, 1.5), target)
    assert crls(gaussian, column(target)).item() == pytest.approx(expected, rel=1e-7)
    student = StudentPredictive(*(torch.full((1, 1, 1), v).double() for v in (0.0, 1.0, 3.0)))
    expected = by_quadrature(stats.t(3), target)
    assert crls(student, column(target)).item() == pytest.approx(expected, rel=1e-6)


def test_a_logistic_has_its_closed_form_from_the_cdf_alone():
    # ∫ log(1 + e^x) dx up to 0 is π²/12, on either side.
    prediction = ByCdf(stats.logistic.cdf)
    assert crls(prediction, column(0.0)).item() == pytest.approx(math.pi**2 / 6, rel=1e-8)


@pytest.mark.parametrize("far", [8.3, 40.0, 1e4])
def test_a_gaussian_is_scored_alike_and_finitely_on_both_sides_however_far(far):
    prediction = GaussianPredictive(torch.zeros(1, 2, 1), torch.ones(1, 2, 1))
    below, above = crls(prediction, column(-far, far)).tolist()
    assert below == pytest.approx(above, rel=1e-9)
    # -log(1 - Φ(z)) is z²/2 + log(z √(2π)) far out.
    assert above == pytest.approx(by_quadrature(stats.norm, far), rel=1e-6)


@pytest.mark.long
def test_many_degrees_of_freedom_are_scored_as_a_gaussian_where_the_cdf_underflows():
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    student = crls(StudentPredictive(0 * one, one, 1e9 * one), column(60.0)).item()
    assert student == pytest.approx(by_quadrature(stats.norm, 60.0), rel=1e-5)


@pytest.mark.long
def test_a_mixture_has_its_integral():
    means, stds = torch.tensor([-3.0, 1.0, 1.5]), torch.tensor([0.5, 1.0, 3.0])
    prediction = GaussianPredictive(means.view(3, 1, 1), stds.square().view(3, 1, 1))
    x = np.linspace(-60, 60, 400_001)
    laws = [stats.norm(m, s) for m, s in zip(means.tolist(), stds.tolist(), strict=True)]
    below = np.mean([law.cdf(x) for law in laws], 0)
    above = np.mean([law.sf(x) for law in laws], 0)
    integrand = np.where(x < 2.0, -np.log(above), -np.log(below, where=below > 0, out=0 * x))
    expected = np.trapezoid(integrand, x)
    assert crls(prediction, column(2.0)).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.long
def test_weighted_mixtures_and_log_normals_have_all_digits_far_out():
    one = torch.ones(3, 1, 1, dtype=torch.float64)
    weights = torch.tensor([[0.5], [0.25], [0.25]], dtype=torch.float64)
    weighted = WeightedGaussianPredictive(weights, torch.stack([-one[0], one[0], one[0]]), one)
    equal = GaussianPredictive(torch.stack([-one[0], one[0]]), one[:2])
    for target in (0.4, -50.0, 50.0):
        expected = crls(equal, column(target)).item()
        assert crls(weighted, column(target)).item() == pytest.approx(expected, rel=1e-9)
    log_normal = LogNormalPredictive(0 * one[0], 0 * one[0], 0.5 * one[0])
    for target in (0.7, 2000.0):
        expected = by_quadrature(stats.lognorm(0.5), target)
        assert crls(log_normal, column(target)).item() == pytest.approx(expected, rel=1e-5)


def test_samples_are_scored_between_their_steps_and_infinitely_beyond_them():
    samples = torch.tensor([0.0, 1.0, 3.0, 7.0], dtype=torch.float64)[:, None, None]
    prediction = SamplePredictive(samples.expand(-1, 4, 1))
    # Masses below: 1/4, 1/2 and 3/4 on lengths of 1, 2 and 4.
    logs = -np.log([0.75, 0.5, 0.25]), -np.log([0.25, 0.5, 0.75])
    expected = [
        logs[0][0] + logs[0][1] * 0.5 + logs[1][1] * 1.5 + 4 * logs[1][2],
        logs[1] @ [1, 2, 4],
        math.inf,
        math.inf,
    ]
    np.testing.assert_allclose(crls(prediction, column(1.5, 0.0, -0.1, 8.0)), expected)


def test_a_target_outside_the_support_is_infinitely_bad_and_one_in_it_is_not():
    prediction = UniformPredictive(column(0, 0, 0), column(1, 1, 1))
    inside, *outside = crls(prediction, column(0.5, -1.0, 2.0)).tolist()
    # -2 ∫ log(1 - x) dx up to 1/2.
    assert inside == pytest.approx(1 - math.log(2), rel=1e-7)
    assert outside == [math.inf, math.inf]


def test_a_point_mass_is_right_or_infinitely_wrong():
    prediction = GaussianPredictive(torch.zeros(1, 3, 1), torch.zeros(1, 3, 1))
    assert crls(prediction, column(0.0, -1.0, 1.0)).tolist() == [0, math.inf, math.inf]


def test_a_cdf_without_digits_at_a_possible_target_has_no_score():
    with pytest.raises(CannotAnswer, match="rounded to 0 or 1"):
        crls(ByCdf(stats.norm.cdf), column(9.0))
    assert np.isfinite(crls(ByCdf(stats.norm.cdf), column(-9.0)).item())


def test_no_mean_no_score_and_no_cdf_no_answer():
    heavy = StudentPredictive(*(torch.full((1, 1, 1), v).double() for v in (0.0, 1.0, 0.9)))
    assert crls(heavy, column(0.0)).item() == math.inf
    assert METRICS["crls"].limits == ("inf",)
    assert METRICS["crls"].needs == ("cdf",)
    assert not hasattr(QuantilePredictive, "cdf")
