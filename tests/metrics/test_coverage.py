import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import optimize, stats
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.inversion import central_interval, quantile
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.metrics import METRICS
from bnnbench.metrics.coverage import (
    calibration_curve,
    calibration_error,
    central_interval_score,
    interval_coverage,
    interval_width,
    mean_absolute_calibration_error,
    root_sharpness,
    sharpness,
)
from bnnbench.metrics.crps import crps, crps_by_integration


@dataclass(frozen=True)
class UniformPredictive:
    """Uniform on [low, high]: a shape that the project does not have."""

    low: Tensor
    high: Tensor

    def __len__(self) -> int:
        return len(self.low)

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    def log_prob(self, target: Tensor) -> Tensor:
        inside = (self.low <= target) & (target <= self.high)
        return torch.where(inside, -(self.high - self.low).log(), -math.inf).sum(1)

    def cdf(self, target: Tensor) -> Tensor:
        return ((target - self.low) / (self.high - self.low)).clamp(0, 1)

    def rescaled(self, mean: float, std: float) -> "UniformPredictive":
        return UniformPredictive(mean + std * self.low, mean + std * self.high)


def _mixture(means, variances) -> GaussianPredictive:
    return GaussianPredictive(
        *(torch.tensor(v, dtype=torch.float64)[:, None, None] for v in (means, variances))
    )


def _cdf(x: float, means, variances) -> float:
    return float(np.mean(stats.norm.cdf(x, means, np.sqrt(variances))))


@pytest.mark.parametrize("level", [1e-6, 0.025, 0.3, 0.5, 0.95, 1 - 1e-6])
@pytest.mark.parametrize(
    ("means", "variances"),
    [
        ([-1.0, 0.5, 2.0], [0.5, 1.0, 0.25]),
        ([-50.0, 50.0], [1e-4, 1e-4]),
        ([0.0] * 9 + [1000.0], [1.0] * 10),
        ([1e6, 1e6 + 1], [1e-2, 4.0]),
        ([1e-9, 2e-9], [1e-20, 1e-18]),
    ],
)
def test_quantiles_of_mixtures_are_those_found_by_bisection(means, variances, level):
    low = min(m - 7 * math.sqrt(v) for m, v in zip(means, variances, strict=True))
    high = max(m + 7 * math.sqrt(v) for m, v in zip(means, variances, strict=True))
    # SciPy's absolute tolerance ignores the scale of the problem.
    found = optimize.bisect(
        lambda u: _cdf(low + u * (high - low), means, variances) - level, 0, 1, xtol=1e-15
    )
    expected = low + found * (high - low)
    actual = quantile(_mixture(means, variances), level).item()
    if (means, level) != ([-50.0, 50.0], 0.5):  # Every value between the modes is a median.
        assert actual == pytest.approx(expected, abs=1e-11 * (high - low), rel=1e-14)
    assert _cdf(actual, means, variances) == pytest.approx(level, abs=1e-9)


@settings(max_examples=60)
@given(some.integers(0, 2**31), some.integers(1, 6), some.floats(0.001, 0.999))
def test_the_cdf_of_a_quantile_is_its_level(seed, draws, level):
    rng = torch.Generator().manual_seed(seed)
    means = torch.randn(draws, 8, 2, generator=rng, dtype=torch.float64)
    prediction = GaussianPredictive(5 * means, torch.rand(draws, 8, 2, generator=rng) + 1e-3)
    reached = prediction.cdf(quantile(prediction, level))
    torch.testing.assert_close(reached, torch.full_like(reached, level), rtol=0, atol=1e-10)


def test_quantiles_of_a_single_gaussian_agree_with_scipy():
    prediction = _mixture([3.0], [4.0])
    for level in (1e-12, 0.025, 0.5, 0.9):
        assert quantile(prediction, level).item() == pytest.approx(stats.norm.ppf(level, 3, 2))


def test_quantiles_of_another_shape_come_from_its_cdf():
    low = torch.tensor([[0.0, -3.0]], dtype=torch.float64)
    prediction = UniformPredictive(low, low + torch.tensor([1.0, 7.0]))
    for level in (0.025, 0.5, 0.9):
        expected = [[level, -3 + 7 * level]]
        np.testing.assert_allclose(quantile(prediction, level), expected, rtol=1e-10)


def test_point_masses_are_their_own_quantiles():
    means = torch.tensor([[0.0, 1.0, 5.0], [0.0, 1.0, 7.0]], dtype=torch.float64)[..., None]
    variances = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)[:, None].expand(2, 3, 1)
    for draws in (1, 2):
        prediction = GaussianPredictive(means[:draws], variances[:draws])
        low, high = central_interval(prediction, 0.9)
        assert low[:2].tolist() == high[:2].tolist() == [[0], [1]]
        assert high[2] > low[2]


def test_a_step_of_the_cdf_is_the_quantile_of_all_levels_within_it():
    prediction = _mixture([0.0, 0.0, 3.0], [0.0, 0.0, 1.0])
    for level in (0.1, 0.3, 0.6):
        assert quantile(prediction, level).item() == pytest.approx(0, abs=1e-11)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, math.nan])
def test_levels_that_are_no_probability_are_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(_mixture([0.0], [1.0]), level)


def test_the_ends_of_an_interval_belong_to_it():
    prediction = GaussianPredictive(torch.zeros(1, 4, 1), torch.ones(1, 4, 1))
    low, high = central_interval(prediction, 0.9)
    ends = torch.stack([low[0], high[1], low[2] - 1e-9, high[3] + 1e-9])
    assert interval_coverage(prediction, ends, 0.9).tolist() == [1, 1, 0, 0]


def test_a_point_mass_contains_its_own_value_and_has_no_width():
    prediction = GaussianPredictive(torch.ones(1, 2, 1), torch.zeros(1, 2, 1))
    target = torch.tensor([[1.0], [1.0 + 1e-6]])
    assert interval_coverage(prediction, target, 0.5).tolist() == [1, 0]
    assert interval_width(prediction, 0.5).tolist() == [0, 0]


def test_coverage_and_width_are_averaged_over_outputs():
    prediction = GaussianPredictive(torch.zeros(1, 1, 2), torch.tensor([[[1.0, 4.0]]]))
    target = torch.tensor([[0.0, 100.0]])
    assert interval_coverage(prediction, target, 0.5).tolist() == [0.5]
    quartile = stats.norm.ppf(0.75)
    assert interval_width(prediction, 0.5).item() == pytest.approx((2 + 4) / 2 * quartile)


def test_targets_from_the_predictive_are_covered_as_often_as_intervals_say():
    rng = torch.Generator().manual_seed(0)
    means = torch.tensor([-1.0, 2.0], dtype=torch.float64)[:, None, None].expand(2, 20_000, 1)
    prediction = GaussianPredictive(means, torch.ones_like(means))
    which = torch.randint(2, (20_000, 1), generator=rng)
    target = torch.tensor([-1.0, 2.0])[which] + torch.randn(20_000, 1, generator=rng)
    for mass in (0.5, 0.9, 0.95):
        error = 4 * math.sqrt(mass * (1 - mass) / 20_000)
        share = interval_coverage(prediction, target, mass).mean().item()
        assert share == pytest.approx(mass, abs=error)
    assert calibration_error(prediction, target).item() < 11 * 16 * 0.25 / 20_000


def test_a_prediction_at_its_own_quantiles_is_calibrated():
    levels = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    prediction = GaussianPredictive(torch.zeros(1, 1000, 1), torch.ones(1, 1000, 1))
    target = torch.special.ndtri(levels)[:, None]
    torch.testing.assert_close(
        calibration_curve(prediction, target).observed, torch.arange(11).double() / 10
    )
    assert calibration_error(prediction, target).item() == pytest.approx(0, abs=1e-20)
    assert mean_absolute_calibration_error(prediction, target).item() == pytest.approx(0, abs=1e-12)
    # Overconfident by a factor of 2: half the z, and the curve is the cdf of half the quantile.
    bold = GaussianPredictive(torch.zeros(1, 1000, 1), torch.full((1, 1000, 1), 0.25))
    grid = np.arange(1, 10) / 10
    expected = np.abs(stats.norm.cdf(stats.norm.ppf(grid) / 2) - grid).mean()
    found = mean_absolute_calibration_error(bold, target).item()
    assert found == pytest.approx(expected, abs=2e-3)


def test_sharpness_is_the_variance_of_the_whole_mixture():
    prediction = _mixture([-1.0, 1.0], [0.5, 1.5])
    assert sharpness(prediction).item() == 2
    assert root_sharpness(prediction).item() == pytest.approx(math.sqrt(2), rel=1e-15)


@pytest.mark.parametrize("target", [-1.0, 0.0, 0.3, 1.0, 2.5])
def test_other_shapes_are_scored_by_integrating_their_cdf(target):
    zero = torch.zeros(1, 1, dtype=torch.float64)
    prediction = UniformPredictive(zero, zero + 1)
    clipped = min(max(target, 0.0), 1.0)
    expected = abs(target - clipped) + (clipped**3 + (1 - clipped) ** 3) / 3
    assert crps(prediction, zero + target).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("target", [-3.0, 0.7, 40.0])
def test_integration_agrees_with_the_closed_form_of_mixtures(target):
    prediction = _mixture([-1.0, 0.5, 2.0], [0.5, 1.0, 0.25])
    y = torch.tensor([[target]], dtype=torch.float64)
    assert crps_by_integration(prediction, y).item() == pytest.approx(
        crps(prediction, y).item(), rel=1e-8
    )


FAR = [2.0, 8.0, 8.3, 9.0, 38.0, 39.0, 1e4]
"""Distances in standard deviations; beyond 38 a Gaussian's cdf is 0 in double precision."""


class OnlyCdf:
    """A Gaussian that has a cdf and nothing else."""

    def __len__(self) -> int:
        return 20

    def cdf(self, target: Tensor) -> Tensor:
        return torch.from_numpy(stats.norm.cdf(target.numpy()))


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("kind", ["gaussian", "mixture", "student", "cdf"])
def test_targets_far_below_and_far_above_err_alike(kind, far):
    one = torch.ones(2, 20, 1, dtype=torch.float64)
    centres = torch.stack([-one[0], one[0]]) / 100
    prediction = {
        "gaussian": GaussianPredictive(0 * one[:1], one[:1]),
        "mixture": GaussianPredictive(centres, one),
        "student": StudentPredictive(centres, one, 1e6 * one),
        "cdf": OnlyCdf(),
    }[kind]
    below, above = (calibration_error(prediction, sign * far * one[0]) for sign in (-1, 1))
    # No target is at the levels 0 to 0.9 above, or at the level 0 below.
    expected = sum((k / 10) ** 2 for k in range(10))
    assert below.item() == pytest.approx(expected, abs=1e-12)
    assert above.item() == pytest.approx(expected, abs=1e-12)
    assert calibration_curve(prediction, -far * one[0]).observed.tolist() == [0] + [1] * 10


def test_targets_below_all_mass_are_at_the_level_zero():
    low = torch.zeros(4, 1, dtype=torch.float64)
    target = torch.tensor([[-1.0], [0.5], [0.5], [0.5]])
    assert calibration_curve(UniformPredictive(low, low + 1), target).observed[0] == 0.25
    point = GaussianPredictive(low[None], low[None])
    assert calibration_curve(point, target).observed[0] == 0.25


def test_the_lower_tail_of_a_gaussian_has_all_its_digits():
    z = torch.tensor([[-1.0], [-8.0], [-8.4], [-20.0], [-37.0]], dtype=torch.float64)
    prediction = GaussianPredictive(torch.zeros(1, 5, 1), torch.ones(1, 5, 1))
    np.testing.assert_allclose(prediction.cdf(z), stats.norm.cdf(z), rtol=1e-11)


def test_targets_beyond_all_samples_are_at_the_level_zero():
    samples = torch.ones(50, 40, 1, dtype=torch.float64)
    target = torch.tensor([0.0, 2.0]).repeat(20)[:, None].double()
    curve = calibration_curve(SamplePredictive(samples), target)
    assert float(curve.observed[0]) == 0.5


@pytest.mark.parametrize("mass", [0.9, 0.95])
def test_the_interval_score_of_a_gaussian_has_its_closed_form(mass):
    alpha, std = 1 - mass, 1.5
    ends = stats.norm(0.5, std).interval(mass)
    targets = np.array([-9.0, -2.0, 0.5, 3.0, 8.0])
    outside = np.maximum(ends[0] - targets, 0) + np.maximum(targets - ends[1], 0)
    expected = ends[1] - ends[0] + 2 / alpha * outside
    prediction = GaussianPredictive(torch.full((1, 5, 1), 0.5), torch.full((1, 5, 1), std**2))
    metric = METRICS[f"interval_score_{round(100 * mass)}"]
    found = metric.score(prediction, torch.from_numpy(targets)[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_expected_interval_score_of_the_truth_is_four_densities_over_alpha():
    # E S = 4 σ φ(z) / α for the quantiles ± z σ of N(0, σ²) itself, by quadrature of the targets.
    levels = (np.arange(20_000) + 0.5) / 20_000
    prediction = GaussianPredictive(torch.zeros(1, 20_000, 1), torch.full((1, 20_000, 1), 4.0))
    targets = torch.from_numpy(stats.norm(0, 2).ppf(levels))[:, None]
    expected = 4 * 2 * stats.norm.pdf(stats.norm.ppf(0.95)) / 0.1
    found = central_interval_score(prediction, targets, 0.9).mean().item()
    assert found == pytest.approx(expected, rel=1e-3)


def test_quantiles_and_intervals_of_other_levels_have_no_interval_score():
    levels = torch.tensor([0.05, 0.95], dtype=torch.float64)
    prediction = QuantilePredictive(levels, torch.tensor([[[-1.0, 2.0]]], dtype=torch.float64))
    target = torch.tensor([[2.5]], dtype=torch.float64)
    assert METRICS["interval_score_90"].score(prediction, target).item() == pytest.approx(13.0)
    with pytest.raises(CannotAnswer, match=r"no quantile at 0\.025"):
        METRICS["interval_score_95"].score(prediction, target)
