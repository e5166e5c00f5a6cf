import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics import crps as module
from bnnbench.metrics.crps import crps, crps_of_gaussian_mixture, crps_of_samples


def _random(draws: int, points: int, outputs: int = 1) -> tuple[GaussianPredictive, torch.Tensor]:
    rng = torch.Generator().manual_seed(draws)
    means = torch.randn(draws, points, outputs, generator=rng, dtype=torch.float64)
    variances = torch.rand(draws, points, outputs, generator=rng, dtype=torch.float64) + 0.05
    return GaussianPredictive(means, variances), torch.randn(points, outputs, generator=rng)


@pytest.mark.parametrize("draws", [1, 2, 7])
def test_the_score_is_the_integral_that_defines_it(draws):
    prediction, target = _random(draws, 4)
    for point, score in enumerate(crps(prediction, target).tolist()):
        means = prediction.means[:, point, 0].numpy()
        stds = prediction.variances[:, point, 0].sqrt().numpy()
        y = target[point].item()

        def squared(x, step, means=means, stds=stds):
            return (stats.norm.cdf(x, means, stds).mean() - step) ** 2

        below, above = (
            integrate.quad(squared, -12, y, args=(0,), epsabs=1e-11)[0],
            integrate.quad(squared, y, 12, args=(1,), epsabs=1e-11)[0],
        )
        assert score == pytest.approx(below + above, abs=1e-9)


def test_the_score_of_a_point_mass_is_its_distance():
    prediction = GaussianPredictive(torch.zeros(1, 2, 1), torch.zeros(1, 2, 1))
    assert crps(prediction, torch.tensor([[0.0], [-3.0]])).tolist() == [0, 3]


def test_point_masses_are_scored_as_biased_samples():
    samples = torch.tensor([0.1, 0.4, -0.3, 1.2, 0.9], dtype=torch.float64)
    means = samples[:, None, None]
    target = torch.tensor([[0.7]], dtype=torch.float64)
    expected = crps_of_samples(samples[:, None], target[:, 0], fair=False)
    torch.testing.assert_close(
        crps(GaussianPredictive(means, torch.zeros_like(means)), target), expected
    )


def test_outputs_are_averaged():
    prediction, target = _random(3, 5, outputs=2)
    each = [
        crps(
            GaussianPredictive(
                prediction.means[..., k : k + 1], prediction.variances[..., k : k + 1]
            ),
            target[:, k : k + 1],
        )
        for k in range(2)
    ]
    torch.testing.assert_close(crps(prediction, target), torch.stack(each).mean(0))


@pytest.mark.parametrize("narrowest", [0.02, 0.3, 3.0])
def test_many_draws_are_scored_by_quadrature_as_they_are_by_pairs(narrowest):
    prediction, _ = _random(400, 6, outputs=2)
    variances = narrowest**2 * (1 + prediction.variances)
    mean = prediction.means
    nodes = module._nodes_needed(mean, variances)
    by_pairs = module._spread_by_pairs(mean, variances)
    by_quadrature = module._spread_by_quadrature(mean, variances, int(nodes) + 1)
    torch.testing.assert_close(by_quadrature, by_pairs, rtol=1e-12, atol=0)


def test_the_narrowest_component_decides_how_many_draws_quadrature_needs(monkeypatch):
    prediction, target = _random(400, 3)
    wide = crps(prediction, target)
    monkeypatch.setattr(
        module, "_spread_by_quadrature", None
    )  # here the mean over pairs would be used
    with pytest.raises(TypeError):
        crps(prediction, target)
    monkeypatch.setattr(module, "_nodes_needed", lambda *_: float("inf"))
    torch.testing.assert_close(crps(prediction, target), wide, rtol=1e-12, atol=0)
    variances = prediction.variances.clone()
    variances[0] = 0.0  # a point mass among them has width 0
    monkeypatch.undo()
    monkeypatch.setattr(module, "_spread_by_quadrature", None)
    assert crps(GaussianPredictive(prediction.means, variances), target).isfinite().all()


def test_chunks_of_points_change_nothing(monkeypatch):
    prediction, target = _random(4, 50)
    whole = crps_of_gaussian_mixture(prediction, target)
    monkeypatch.setattr(module, "CHUNK_VALUES", 7 * 6)
    torch.testing.assert_close(
        crps_of_gaussian_mixture(prediction, target), whole, rtol=1e-13, atol=0
    )


@pytest.mark.parametrize("fair", [True, False])
def test_samples_are_scored_by_their_mean_distances(fair):
    rng = np.random.default_rng(0)
    samples, target = rng.normal(size=(9, 6)), rng.normal(size=6)
    samples[3] = samples[4]
    between = np.abs(samples[:, None] - samples[None]).sum((0, 1)) / (72 if fair else 81)
    expected = np.abs(samples - target).mean(0) - between / 2
    found = crps_of_samples(torch.from_numpy(samples), torch.from_numpy(target), fair=fair)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_fair_score_of_few_samples_expects_that_of_the_distribution():
    rng = torch.Generator().manual_seed(1)
    samples = torch.randn(3, 400_000, generator=rng, dtype=torch.float64)
    target = torch.full((400_000,), 0.4, dtype=torch.float64)
    normal = GaussianPredictive(torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    expected = crps(normal, torch.tensor([[0.4]])).item()
    scores = crps_of_samples(samples, target)
    error = 4 * scores.std().item() / np.sqrt(len(scores))
    assert scores.mean().item() == pytest.approx(expected, abs=error)
    assert crps_of_samples(samples, target, fair=False).mean().item() > expected + error


def test_one_sample_has_no_fair_score():
    one = torch.zeros(1, 3)
    with pytest.raises(ValueError, match="at least 2 draws"):
        crps_of_samples(one, one[0])
    assert crps_of_samples(one, one[0], fair=False).tolist() == [0, 0, 0]


@pytest.mark.parametrize("std", [0.0, 1e-7, 1e-3])
def test_many_narrow_components_have_the_mean_distance_of_their_pairs(std):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(150, 3)).round(2)  # some are equal
    stds = std * rng.uniform(0.5, 2, size=(150, 3))
    gaps = np.abs(means[:, None] - means)
    widths = np.hypot(stds[:, None], stds) + 1e-30
    folded = widths * np.sqrt(2 / np.pi) * np.exp(-((gaps / widths) ** 2) / 2)
    folded += gaps * special.erf(gaps / widths / np.sqrt(2))
    found = module._spread_by_pairs(torch.from_numpy(means), torch.from_numpy(stds**2))
    np.testing.assert_allclose(found, folded.mean((0, 1)) / 2, rtol=1e-12)
