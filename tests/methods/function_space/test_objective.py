"""The objective of a batch, compared with a direct implementation of its definition."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.methods.base import Unsupported
from bnnbench.methods.function_space.index_sets import RotatedCopies, TrainingData
from bnnbench.methods.function_space.objective import DirichletPrior, IndexPoints, expected_loss
from bnnbench.methods.predictions.dirichlet import smoothed
from tests.methods.problems import classification, images, regression, stream, streams


def log_probs(draws, problems, points, classes=3, seed=0):
    logits = torch.randn(draws, problems, points, classes, generator=stream(seed))
    return (2 * logits.double()).log_softmax(-1)


@pytest.mark.parametrize("draws", [1, 4])
def test_the_loss_is_the_mean_of_logarithms_and_not_the_logarithm_of_the_mean(draws):
    logs, targets = log_probs(draws, 2, 5), torch.randint(3, (2, 5), generator=stream(1))
    found = expected_loss(logs, targets)
    for problem in range(2):
        own = [
            -float(logs[m, problem, n, targets[problem, n]]) for m in range(draws) for n in range(5)
        ]
        assert float(found[problem]) == pytest.approx(np.mean(own))


@pytest.mark.parametrize("beta", [None, (1.0, 2.0, 0.5)])
def test_one_draw_has_the_density_of_a_dirichlet_as_precise_as_there_are_rows(beta):
    problem = classification(rows=37)
    prior, logs = DirichletPrior.of(problem, beta), log_probs(1, 2, 5)
    found = prior.divergence(logs)
    assert prior.highest == 37
    for index in range(2):
        expected = []
        for probs in smoothed(logs[0, index].exp()).numpy():
            own = stats.dirichlet.logpdf(probs, 37 * probs)
            expected.append(own - stats.dirichlet.logpdf(probs, beta or (1.0, 1.0, 1.0)))
        assert float(found[index]) == pytest.approx(np.mean(expected), rel=1e-9)


def test_a_prior_fits_the_problem():
    with pytest.raises(Unsupported, match="prior with 3 concentrations; got 2"):
        DirichletPrior.of(classification(), (1.0, 1.0))
    with pytest.raises(Unsupported, match="needed a classifier"):
        DirichletPrior.of(regression(), None)


def test_a_precision_is_at_least_the_number_of_classes():
    assert DirichletPrior.of(classification(rows=2), None).highest == 3


@pytest.mark.parametrize(
    ("index", "seen"),
    [
        ((TrainingData(),), []),
        ((RotatedCopies((90,)),), [5]),
        ((TrainingData(), RotatedCopies((90,))), [5]),
        ((RotatedCopies((90, 180)), RotatedCopies((45,)), TrainingData()), [15]),
    ],
)
def test_index_points_are_joined_and_the_batch_is_not_computed_again(index, seen):
    problems = [images(seed) for seed in range(2)]
    inputs = torch.stack([problem.train.inputs[:5] for problem in problems])
    asked = []

    def predict(points):
        asked.append(points.shape[1])
        return log_probs(2, 2, points.shape[1], seed=9)

    of_batch = log_probs(2, 2, 5)
    found = IndexPoints(index, problems).log_probs(of_batch, inputs, streams(0, 1), predict)
    assert asked == seen
    with_batch = TrainingData() in index
    assert found.shape[2] == 5 * with_batch + sum(seen)
    if with_batch:
        assert torch.equal(found[:, :, :5], of_batch)


def test_the_pull_on_a_fitted_point_is_towards_the_known_probability():
    """With one draw, the optimum of -log f_y - w Σ log f_k has f_y = (1 + w) / (1 + K w)."""
    weight, classes = 0.1, 4
    logits = torch.zeros(1, 1, 1, classes, dtype=torch.float64, requires_grad=True)
    prior = DirichletPrior(torch.ones(classes, dtype=torch.float64), 1000.0)
    optimiser = torch.optim.LBFGS([logits], max_iter=200, tolerance_grad=1e-12)

    def closure():
        optimiser.zero_grad()
        logs = logits.log_softmax(-1)
        loss = expected_loss(logs, torch.zeros(1, 1).long()) + weight * prior.divergence(logs)
        loss.sum().backward()
        return float(loss.detach())

    optimiser.step(closure)
    expected = (1 + weight) / (1 + classes * weight)
    assert logits.softmax(-1)[0, 0, 0, 0].item() == pytest.approx(expected, abs=1e-4)
    assert math.isclose(expected, 1.1 / 1.4)
