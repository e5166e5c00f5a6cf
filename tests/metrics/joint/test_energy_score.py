import math

import numpy as np
import pytest
import torch
from scipy import special
from scipy.spatial import distance

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.metrics.crps import crps_of_gaussian_mixture
from bnnbench.metrics.joint import energy_score as module
from bnnbench.metrics.joint.energy_score import energy_score, expected_norm, joint_energy_score

RNG = torch.Generator().manual_seed(11)


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=RNG, dtype=torch.float64)


def _uniform(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=RNG, dtype=torch.float64)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("distance", [0.0, 0.03, 1.0, 5.0, 25.0])
def test_the_norm_of_a_round_gaussian_is_the_mean_of_a_noncentral_chi(size, distance):
    std = 0.7
    mean = torch.full((1, size), std * distance / math.sqrt(size), dtype=torch.float64)
    norm = expected_norm(mean, torch.full_like(mean, std**2)).item()
    expected = math.sqrt(2) * math.exp(
        special.gammaln((size + 1) / 2) - special.gammaln(size / 2)
    ) * special.hyp1f1(-0.5, size / 2, -(distance**2) / 2)  # fmt: skip
    assert norm == pytest.approx(std * expected, rel=1e-8)


@pytest.mark.parametrize("small", [0.0, 1e-9, 1e-3, 1.0])
def test_the_norm_of_an_oblong_gaussian_agrees_with_its_quadrature(small):
    nodes, weights = np.polynomial.hermite_e.hermegauss(160)
    x, y = 0.4 + math.sqrt(1.3) * nodes[:, None], -1.1 + math.sqrt(small) * nodes
    expected = weights @ np.hypot(x, y) @ weights / (2 * math.pi)
    mean = torch.tensor([[0.4, -1.1]], dtype=torch.float64)
    variance = torch.tensor([[1.3, small]], dtype=torch.float64)
    # The norm has an edge at the origin, where the quadrature converges slowly.
    assert expected_norm(mean, variance).item() == pytest.approx(expected, rel=1e-4)


def test_the_norm_without_variance_agrees_with_the_mean():
    norm = expected_norm(
        torch.tensor([[3.0, 4.0], [0.0, 0.0]]).double(), torch.zeros(2, 2).double()
    )
    assert norm.tolist() == pytest.approx([5.0, 0.0], rel=1e-8)


@pytest.mark.parametrize("draws", [1, 2, 7])
def test_of_one_target_it_is_the_crps(draws):
    means, variances, target = _normal(draws, 1), _uniform(draws, 1) + 0.05, _normal(1)
    mixture = GaussianPredictive(means[:, None], variances[:, None])
    expected = crps_of_gaussian_mixture(mixture, target[:, None]).item()
    assert energy_score(means, variances, target).item() == pytest.approx(expected, rel=1e-6)


def test_of_point_masses_it_is_the_mean_distance_less_half_that_of_pairs():
    means, target = _normal(30, 4), _normal(4)
    error = distance.cdist(means, target[None]).mean()
    expected = error - distance.cdist(means, means).mean() / 2
    score = energy_score(means, torch.zeros_like(means), target).item()
    assert score == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("alike", [True, False])
def test_of_a_mixture_it_agrees_with_many_samples(alike):
    means, target = _normal(5, 10), _normal(10)
    variances = _uniform(5, 1).expand(5, 10) if alike else _uniform(5, 10)
    rng = np.random.default_rng(0)
    drawn = rng.integers(5, size=(2, 400_000))
    noise = rng.standard_normal((2, 400_000, 10))
    first, second = means.numpy()[drawn] + variances.sqrt().numpy()[drawn] * noise
    terms = np.linalg.norm(first - target.numpy(), axis=1)
    terms -= np.linalg.norm(first - second, axis=1) / 2
    error = terms.std() / math.sqrt(len(terms))
    score = energy_score(means, variances, target).item()
    assert score == pytest.approx(terms.mean(), abs=4 * error)


@pytest.mark.long
def test_the_true_law_of_correlated_targets_beats_its_marginals():
    functions = _normal(60, 1).expand(60, 10)
    mixed = _normal(60, 10)
    variances = torch.full((60, 10), 0.01, dtype=torch.float64)
    targets = _normal(200, 1).expand(200, 10) + 0.1 * _normal(200, 10)
    true, wrong = (
        torch.stack([energy_score(means, variances, target) for target in targets]).mean()
        for means in (functions, mixed)
    )
    assert true < wrong - 0.05


def test_the_score_of_ten_points_agrees_with_their_vector():
    means, variances, target = _normal(3, 10, 2), _uniform(3, 10, 2), _normal(10, 2)
    score = joint_energy_score(GaussianPredictive(means, variances), target)
    expected = energy_score(means.flatten(1), variances.flatten(1), target.flatten())
    assert score.item() == pytest.approx(expected.item(), rel=1e-12)


def test_one_draw_and_classes_have_no_score():
    single = GaussianPredictive(torch.zeros(1, 20, 1), torch.ones(1, 20, 1))
    with pytest.raises(CannotAnswer, match="one draw"):
        joint_energy_score(single, torch.zeros(20, 1))

    class Other(CategoricalPredictive):
        def draw_log_probs(self, target: torch.Tensor) -> torch.Tensor:
            return torch.zeros(2, len(target), dtype=torch.float64)

    with pytest.raises(CannotAnswer, match="Gaussian draws; got Other"):
        joint_energy_score(Other(torch.zeros(2, 20, 1)), torch.zeros(20, 1))


def test_pairs_of_many_draws_err_by_no_more_than_is_stated():
    means, target = _normal(600, 1) + 0.1 * _normal(600, 4), _normal(4)
    distances = distance.pdist(means)
    between = distances.mean() * (1 - 1 / 600)
    expected = distance.cdist(means, target[None]).mean() - between / 2
    scores = [energy_score(means, torch.zeros_like(means), target, seed) for seed in range(8)]
    errors = torch.stack(scores) - expected
    stated = distances.std() / math.sqrt(20_000) / 2
    assert errors.square().mean().sqrt() < 1.5 * stated
    assert errors.unique().numel() == 8


def test_the_number_of_pairs_is_bounded(monkeypatch):
    compared = []
    norm = module.expected_norm
    monkeypatch.setattr(module, "expected_norm", lambda m, v: compared.append(len(m)) or norm(m, v))
    energy_score(_normal(3000, 1), torch.zeros(3000, 1).double(), _normal(1))
    assert max(compared) <= module.CHUNK_PAIRS
    assert sum(compared) <= 30_000
