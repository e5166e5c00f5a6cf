"""Scores against a reference, compared with closed forms and independent quadrature."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import energy_distance, norm, wasserstein_distance

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics import CERTIFIED
from bnnbench.metrics.functions import joints, marginals
from bnnbench.metrics.functions.floors import floor, halves
from bnnbench.metrics.functions.values import FunctionValues, Truth, function_values


def values(means, stds=0.0, noise_std: float = 0.1) -> FunctionValues:
    """Return components at one point, or rows of draws at several."""
    means = torch.as_tensor(means, dtype=torch.float64)
    means = means[:, None] if means.ndim == 1 else means
    stds = torch.as_tensor(stds, dtype=torch.float64)
    stds = stds[:, None] if stds.ndim == 1 else stds
    return FunctionValues(means, stds.square().expand_as(means).clone(), noise_std)


def truth(functions: FunctionValues) -> Truth:
    points = functions.means.shape[1]
    return Truth(functions, torch.arange(points)[None], torch.eye(points, dtype=torch.float64))


def score(name: str, q: FunctionValues, p: FunctionValues) -> float:
    return float(CERTIFIED[name].score(q, truth(p)).mean())


# The mixture and the Gaussian of targets; noise is part of the components' variances.
P_STDS, Q_STD, NOISE = np.array([1.0, 0.5]), 1.5, 0.3
P = values([0.0, 2.0], np.sqrt(P_STDS**2 - NOISE**2), NOISE)
Q = values([1.0], [np.sqrt(Q_STD**2 - NOISE**2)], NOISE)
F_P, F_Q = values([0.0, 2.0], P_STDS), values([1.0], [Q_STD])


def test_predictives_of_a_mixture_and_a_gaussian():
    assert score("kl_from_truth", Q, P) == pytest.approx(0.1388423982707194, rel=1e-4)
    assert score("total_variation_from_truth", Q, P) == pytest.approx(0.1879505174253769, rel=3e-4)


def test_function_values_of_a_mixture_and_a_gaussian():
    std = float(F_P.std)
    found = score("energy_relative", F_Q, F_P) * std
    assert found == pytest.approx(0.0278649850201028, rel=1e-9)
    p, q = (marginals._tabulated(f) for f in (F_P, F_Q))
    assert float(marginals.wasserstein2(q, p)) == pytest.approx(0.375174272787388, rel=2e-3)
    of_mixture = replace(F_P, means=F_P.means[[0, 1, 1]], variances=F_P.variances[[0, 1, 1]])
    assert 0 < score("w2_relative", of_mixture, F_P) < 1


def test_steps_are_compared_exactly():
    p, q = values([0.0, 1.0, 2.0, 3.0]), values([0.5, 2.5])
    assert float(marginals.wasserstein2_of_draws(q.means, p.means)) == pytest.approx(0.5)
    assert score("w2_relative", q, p) == pytest.approx(0.4472135954999579, rel=1e-12)
    assert score("energy_relative", q, p) * float(p.std) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize(("some", "others"), [(7, 7), (3, 10), (1, 6), (100, 37)])
def test_steps_of_any_numbers_of_draws(some, others):
    rng = np.random.default_rng(some)
    x, y = rng.normal(size=some), rng.normal(0.3, 2.0, size=others)
    copies = np.lcm(some, others)
    paired = np.sort(np.repeat(x, copies // some)) - np.sort(np.repeat(y, copies // others))
    q, p = values(x), values(y)
    found = float(marginals.wasserstein2_of_draws(q.means, p.means))
    assert found == pytest.approx(np.sqrt((paired**2).mean()), rel=1e-12)
    assert found >= wasserstein_distance(x, y) - 1e-12
    energy = score("energy_relative", q, p) * float(p.std)
    assert energy == pytest.approx(energy_distance(x, y) ** 2, rel=1e-10)


def test_a_gaussian_and_draws_by_quadrature():
    draws = np.random.default_rng(0).normal(size=13)
    u = (np.arange(2_000_000) + 0.5) / 2_000_000
    gap = np.sort(draws)[(u * 13).astype(int)] - norm.ppf(u, 0.4, 1.7)
    found = marginals.wasserstein2_of_gaussian(
        torch.tensor([0.4], dtype=torch.float64),
        torch.tensor([1.7], dtype=torch.float64),
        torch.tensor(draws)[:, None],
    )
    assert float(found) == pytest.approx(np.sqrt((gap**2).mean()), rel=1e-5)
    assert score("w2_relative", values([0.4], [1.7]), values(draws)) == pytest.approx(
        float(found) / draws.std(), rel=1e-12
    )


def test_two_gaussians_by_their_closed_form():
    """The distance of N(0, 1) from N(0.5, 2²), by as many quantiles as a reference has draws."""
    z = torch.special.ndtri((torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000)
    found = marginals.wasserstein2_of_gaussian(
        torch.tensor([0.5]).double(), torch.tensor([2.0]).double(), z[:, None]
    )
    assert float(found) == pytest.approx(1.118033988749895, rel=1e-3)


COVARIANCES = {
    "differing": (
        ([[1, 0.6], [0.6, 0.5]], [[0.8, 0.1], [0.1, 0.7]], [0.2, -0.3]),
        0.6405381639176804,
    ),
    "uncorrelated": (([[1, 0.8], [0.8, 1]], [[1, 0], [0, 1]], [0.0, 0.0]), 0.4936107823466352),
}


def with_moments(mean, covariance) -> FunctionValues:
    """Return four draws with exactly this mean and covariance."""
    root = np.linalg.cholesky(np.array(covariance, dtype=float))
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    return values(np.array(mean) + signs @ root.T)


@pytest.mark.parametrize("name", COVARIANCES)
def test_joint_gaussians_by_their_closed_form(name):
    (c_p, c_q, gap), expected = COVARIANCES[name]
    p, q = with_moments([0.0, 0.0], c_p), with_moments(gap, c_q)
    assert score("joint_kl_5", q, p) == pytest.approx(expected, rel=1e-10)


def test_marginals_do_not_notice_a_lost_correlation():
    (c_p, c_q, _), _ = COVARIANCES["uncorrelated"]
    p, q = with_moments([0.0, 0.0], c_p), with_moments([0.0, 0.0], c_q)
    assert score("mean_error", q, p) == pytest.approx(0.0, abs=1e-12)
    assert score("std_ratio", q, p) == pytest.approx(1.0)
    assert score("correlation_error", q, p) == pytest.approx(0.8)


def test_moments_are_compared_in_standard_deviations_of_the_reference():
    p = values([[0.0, 10.0], [2.0, 14.0]])
    q = values([[1.5, 12.0], [2.5, 13.0]])
    assert score("mean_error", q, p) == pytest.approx((1.0 / 1 + 0.5 / 2) / 2)
    assert score("std_ratio", q, p) == pytest.approx(np.sqrt(0.5 * 0.25))


RNG = torch.Generator().manual_seed(0)
ROOT = torch.randn(4, 4, generator=RNG, dtype=torch.float64)
REFERENCE = values(torch.randn(1000, 4, generator=RNG, dtype=torch.float64) @ ROOT)
OTHER = values(torch.randn(60, 4, generator=RNG, dtype=torch.float64) @ ROOT * 0.7 + 0.2)
RIGHT = {"std_ratio": 1.0}


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_reference_is_at_no_distance_from_itself(name):
    assert score(name, REFERENCE, REFERENCE) == pytest.approx(RIGHT.get(name, 0.0), abs=1e-7)


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_order_of_draws_changes_nothing(name):
    order = torch.randperm(60, generator=torch.Generator().manual_seed(1))
    shuffled = score(name, OTHER.of(order), REFERENCE)
    assert shuffled == pytest.approx(score(name, OTHER, REFERENCE), rel=1e-9)
    assert shuffled != pytest.approx(RIGHT.get(name, 0.0), abs=1e-3)


@pytest.mark.parametrize("name", ["w2_relative", "energy_relative", "sliced_w2"])
def test_floors_fall_with_the_number_of_draws(name):
    metric = CERTIFIED[name].score
    floors = [floor(metric, truth(REFERENCE), draws) for draws in (2, 10, 100, 1000)]
    assert floors == sorted(floors, reverse=True)
    assert floors[0] > 3 * floors[-1]
    assert floor(metric, truth(REFERENCE), 10) == floors[1]


def test_the_floor_of_one_draw_of_a_gaussian():
    """W2² of a point x from N(0, 1) is 1 + x², whose root has a known mean."""
    x = np.linspace(-10, 10, 200_001)
    expected = np.trapezoid(np.sqrt(1 + x**2) * norm.pdf(x), x)
    z = torch.special.ndtri((torch.arange(4000, dtype=torch.float64) + 0.5) / 4000)
    found = floor(marginals.w2_relative, truth(values(z)), 1, subsets=4000)
    assert found == pytest.approx(expected, rel=0.02)


def test_halves_of_a_reference_differ_by_less_than_few_draws_do():
    metric = CERTIFIED["w2_relative"].score
    assert 0 < halves(metric, truth(REFERENCE)) < floor(metric, truth(REFERENCE), 100)


def test_a_point_at_the_exact_mean_is_one_deviation_away():
    point = values(REFERENCE.mean[None])
    assert score("w2_relative", point, REFERENCE) == pytest.approx(1.0, rel=1e-9)
    assert score("std_ratio", point, REFERENCE) == 0.0


@pytest.mark.parametrize("name", ["joint_kl_5", "sliced_w2", "correlation_error"])
@pytest.mark.parametrize("prediction", [OTHER.of(torch.tensor([0])), values(torch.zeros(3, 4), 1)])
def test_marginals_and_single_functions_have_no_joint_score(name, prediction):
    with pytest.raises(CannotAnswer, match="draws of whole functions"):
        score(name, prediction, REFERENCE)


def test_the_noise_is_taken_out_of_a_prediction():
    means = torch.randn(5, 3, 1)
    noisy = GaussianPredictive(means, torch.full((5, 3, 1), 0.01))
    assert function_values(noisy, 0.1).are_draws
    wider = GaussianPredictive(means[:1], torch.full((1, 3, 1), 0.05))
    assert torch.allclose(function_values(wider, 0.1).std, torch.tensor(0.2).double(), atol=1e-6)
    with pytest.raises(CannotAnswer, match=r"noise of 0\.2; got a standard deviation of 0\.1"):
        function_values(noisy, 0.2)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="got 2 predictions; the reference has 4"):
        score("mean_error", values(torch.zeros(3, 2)), REFERENCE)
    two = GaussianPredictive(torch.zeros(3, 4, 2), torch.ones(3, 4, 2))
    with pytest.raises(ValueError, match="one output; got predictions of 2"):
        function_values(two, 0.1)


def test_directions_and_groups_agree_with_the_truth():
    p = values([[0.0, 0.0], [2.0, 2.0]])
    q = values([[0.0, 2.0], [2.0, 0.0]])
    along = Truth(p, torch.tensor([[0, 1]]), torch.tensor([[0.5**0.5, 0.5**0.5]]).double())
    # (f - 1) / 1 along the diagonal: -√2 and √2 under p, 0 under q.
    assert float(joints.sliced_w2(q, along)) == pytest.approx(2**0.5)
