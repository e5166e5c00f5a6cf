"""Quantiles on a grid, compared with closed forms, brute force and scikit-learn."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from sklearn.metrics import mean_pinball_loss

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.metrics import METRICS, value

LEVELS = [0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975]


def gaussian(levels, mean=0.0, std=1.0, points=1):
    """Return scipy's quantiles of one Gaussian at every point."""
    levels = np.asarray(levels, float)
    values = scipy.stats.norm.ppf(levels, mean, std)
    tiled = torch.from_numpy(values).expand(points, 1, len(levels))
    return QuantilePredictive(torch.from_numpy(levels), tiled)


def middles(count):
    return (np.arange(count) + 0.5) / count


def gaussian_crps(target, mean, std):
    """Return the closed form: Gneiting and Raftery (2007), eq. 21."""
    z = (target - mean) / std
    pdf, cdf = scipy.stats.norm.pdf(z), scipy.stats.norm.cdf(z)
    return std * (z * (2 * cdf - 1) + 2 * pdf - 1 / math.sqrt(math.pi))


def scored(name, prediction, target) -> np.ndarray:
    return METRICS[name].score(prediction, torch.as_tensor(target)).numpy()


@pytest.mark.parametrize("target", [-2.0, 0.3, 1.2, 4.0])
def test_the_crps_tends_to_the_closed_form_of_a_gaussian_as_the_grid_refines(target):
    exact = gaussian_crps(target, 0.4, 1.5)
    errors = []
    for count in (8, 64, 512, 4096):
        found = value(METRICS["crps"], gaussian(middles(count), 0.4, 1.5), torch.tensor([[target]]))
        errors.append(abs(found - exact))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3 * exact


def test_a_grid_of_unequal_steps_tends_to_the_closed_form_too():
    exact, errors = gaussian_crps(0.7, 0.0, 1.0), []
    for count in (10, 100, 1000):
        levels = scipy.stats.norm.cdf(np.linspace(-5, 5, count))
        found = value(METRICS["crps"], gaussian(levels), torch.tensor([[0.7]]))
        errors.append(abs(found - exact) / exact)
    assert errors[0] > errors[1] > errors[2]
    assert errors[-1] < 1e-4


def test_equal_weights_give_the_crps_of_equally_probable_values():
    rng = np.random.default_rng(0)
    values, target = np.sort(rng.normal(size=(5, 1, 9)), axis=2), rng.normal(size=(5, 1))
    distances = np.abs(values[..., None] - values[..., None, :]).mean((2, 3))
    expected = np.abs(values - target[..., None]).mean(2) - distances / 2
    prediction = QuantilePredictive(torch.from_numpy(middles(9)), torch.from_numpy(values))
    np.testing.assert_allclose(scored("crps", prediction, target), expected[:, 0], rtol=1e-12)


def test_the_median_alone_has_its_distance_as_crps():
    prediction = QuantilePredictive(torch.tensor([0.5]), torch.tensor([[[2.0]], [[3.0]]]))
    assert scored("crps", prediction, [[2.5], [1.0]]).tolist() == [0.5, 2.0]
    assert scored("mae_median", prediction, [[2.5], [1.0]]).tolist() == [0.5, 2.0]


def test_the_pinball_loss_is_scikit_learns():
    rng = np.random.default_rng(1)
    values = np.sort(rng.normal(size=(30, 2, len(LEVELS))), axis=2)
    target = rng.normal(size=(30, 2))
    expected = [mean_pinball_loss(target, values[..., k], alpha=a) for k, a in enumerate(LEVELS)]
    levels = torch.tensor(LEVELS, dtype=torch.float64)
    prediction = QuantilePredictive(levels, torch.from_numpy(values))
    found = value(METRICS["pinball"], prediction, torch.from_numpy(target))
    assert found == pytest.approx(np.mean(expected), rel=1e-12)


def test_honest_quantiles_are_best_by_pinball_loss_and_crps():
    target = torch.from_numpy(scipy.stats.norm.ppf(middles(2000)))[:, None]
    for name in ("pinball", "crps"):
        score = {
            std: value(METRICS[name], gaussian(LEVELS, 0.0, std, 2000), target)
            for std in (0.8, 1.0, 1.25)
        }
        assert min(score, key=score.__getitem__) == 1.0


@pytest.mark.parametrize(("mass", "name"), [(0.5, "50"), (0.9, "90"), (0.95, "95")])
def test_intervals_agree_with_the_grid(mass, name):
    prediction = gaussian(LEVELS, 1.0, 2.0, 1000)
    target = torch.from_numpy(scipy.stats.norm.ppf(middles(1000), 1.0, 2.0))[:, None]
    assert value(METRICS[f"picp_{name}"], prediction, target) == pytest.approx(mass)
    low, high = scipy.stats.norm.interval(mass, 1.0, 2.0)
    assert value(METRICS[f"mpiw_{name}"], prediction, target) == pytest.approx(high - low)


def test_a_level_that_the_grid_lacks_is_named_with_the_levels_it_has():
    with pytest.raises(CannotAnswer, match=r"no quantile at 0.05; its levels are 0.25, 0.5, 0.75"):
        value(METRICS["picp_90"], gaussian([0.25, 0.5, 0.75]), torch.zeros(1, 1))


def test_levels_of_single_precision_are_found():
    prediction = QuantilePredictive(torch.tensor([0.05, 0.95]), torch.tensor([[[-1.0, 1.0]]]))
    assert value(METRICS["mpiw_90"], prediction, torch.zeros(1, 1)) == 2.0


@pytest.mark.parametrize("name", ["pinball", "crps", "mae_median", "mpiw_90"])
def test_scores_grow_with_the_unit_and_do_not_know_the_origin(name):
    prediction, target = gaussian(LEVELS, 0.2, 1.1, 5), torch.linspace(-1, 2, 5)[:, None].double()
    before = scored(name, prediction, target)
    after = scored(name, prediction.rescaled(7.0, 3.0), 7 + 3 * target)
    np.testing.assert_allclose(after, 3 * before, rtol=1e-12)


def test_the_order_of_points_changes_no_score():
    rng = torch.Generator().manual_seed(0)
    levels, values = torch.tensor(LEVELS), torch.randn(6, 2, 7, generator=rng).sort(2).values
    target, order = torch.randn(6, 2, generator=rng), torch.randperm(6, generator=rng)
    for name in ("pinball", "crps", "mae_median", "picp_90"):
        straight = METRICS[name].score(QuantilePredictive(levels, values), target)
        shuffled = METRICS[name].score(QuantilePredictive(levels, values[order]), target[order])
        assert straight.dtype == torch.float64
        torch.testing.assert_close(straight[order], shuffled, rtol=0, atol=0)


def test_what_is_no_grid_of_quantiles_is_refused_with_the_place():
    one = torch.zeros(1, 1, 2)
    with pytest.raises(ValueError, match=r"strictly increase between 0 and 1; got \[0.5, 0.5\]"):
        QuantilePredictive(torch.tensor([0.5, 0.5]), one)
    with pytest.raises(ValueError, match="strictly increase"):
        QuantilePredictive(torch.tensor([0.0, 0.5]), one)
    with pytest.raises(ValueError, match=r"got 2 at 0.1 and 1 at 0.9 for point 1, output 0: sort"):
        QuantilePredictive(torch.tensor([0.1, 0.9]), torch.tensor([[[0.0, 1.0]], [[2.0, 1.0]]]))
