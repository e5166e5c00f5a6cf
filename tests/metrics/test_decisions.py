import numpy as np
import pytest
import sklearn.metrics
import torch
from scipy import stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.metrics.decisions import (
    cost_of_distance,
    cost_of_kind,
    cost_with_rejection,
    newsvendor_cost,
    realised_cost,
)
from bnnbench.metrics.scores import accuracy
from tests.metrics.examples import categorical, random_prediction

RNG = torch.Generator().manual_seed(5)


def _case(points: int = 200, classes: int = 10):
    target = torch.randint(classes, (points,), generator=RNG)
    return random_prediction(RNG, points, classes, draws=3), target


def test_the_action_is_the_best_of_all_by_enumeration():
    prediction, target = _case(classes=4)
    costs = torch.rand(6, 4, generator=RNG, dtype=torch.float64)
    expected = []
    for probs, label in zip(prediction.mixture_log_probs.exp().tolist(), target, strict=True):
        means = [sum(p * c for p, c in zip(probs, row, strict=True)) for row in costs.tolist()]
        expected.append(costs[means.index(min(means)), label].item())
    assert realised_cost(prediction, target, costs).tolist() == pytest.approx(expected)


def test_equal_costs_of_wrong_classes_are_errors():
    prediction, target = _case()
    cost = realised_cost(prediction, target, 1 - torch.eye(10, dtype=torch.float64))
    assert torch.equal(cost, 1 - accuracy(prediction, target))


def test_points_are_rejected_below_a_confidence_of_four_fifths():
    prediction = categorical(torch.tensor([[0.81, 0.19], [0.79, 0.21], [0.9, 0.1]]))
    cost = cost_with_rejection(prediction, torch.tensor([0, 0, 1]))
    assert cost.tolist() == [0.0, 0.2, 1.0]


def test_the_median_is_chosen_where_the_distance_counts():
    prediction, target = _case()
    probs = prediction.mixture_log_probs.exp()
    median = (probs.cumsum(1) < 0.5).sum(1)
    assert torch.equal(cost_of_distance(prediction, target), (median - target).abs().double())


def test_an_animal_is_named_where_animals_are_likelier_together_than_the_likeliest_vehicle():
    probs = torch.full((1, 10), 0.0)
    probs[0, 1], probs[0, 3], probs[0, 5] = 0.4, 0.31, 0.29
    prediction = categorical(probs)
    costs = [cost_of_kind(prediction, torch.tensor([label])).item() for label in (1, 3, 5)]
    assert costs == [5.0, 0.0, 1.0]
    with pytest.raises(CannotAnswer, match="10 classes"):
        cost_of_kind(*_case(classes=3))


@pytest.mark.parametrize(("level", "least"), [(0.9, 0.1), (0.1, 0.1), (0.5, 0.5)])
def test_the_newsvendors_cost_is_the_pinball_loss_of_the_quantile(level, least):
    means, target = (torch.randn(1, 50, 1, generator=RNG, dtype=torch.float64) for _ in range(2))
    prediction = GaussianPredictive(means, torch.full_like(means, 0.25))
    order = means[0, :, 0] + 0.5 * stats.norm.ppf(level)
    expected = sklearn.metrics.mean_pinball_loss(target[0, :, 0], order, alpha=level) / least
    cost = newsvendor_cost(prediction, target[0], level)
    assert cost.mean().item() == pytest.approx(expected, rel=1e-12)


def test_the_expected_cost_under_the_right_law_agrees_with_the_closed_form():
    """10 σ φ(z) for costs of 9 and 1: the mean over targets at their quantiles."""
    target = torch.from_numpy(2.0 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000))[:, None]
    zeros = torch.zeros(1, len(target), 1, dtype=torch.float64)
    cost = newsvendor_cost(GaussianPredictive(zeros, zeros + 4), target, 0.9).mean().item()
    assert cost == pytest.approx(10 * 2 * stats.norm.pdf(stats.norm.ppf(0.9)), rel=1e-4)


def test_a_grid_of_quantiles_answers_at_its_levels_alone():
    grid = QuantilePredictive(torch.tensor([0.5, 0.9]), torch.tensor([[[0.0, 2.0]]]))
    target = torch.tensor([[3.0]])
    assert newsvendor_cost(grid, target, 0.9).item() == pytest.approx(9.0)
    with pytest.raises(CannotAnswer, match=r"no quantile at 0\.1"):
        newsvendor_cost(grid, target, 0.1)
