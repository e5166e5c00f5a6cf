import itertools
import math

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.marginals import MarginalCategorical, MarginalGaussian
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    mixture,
)
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.metrics.joint.batches import batches, pairs
from bnnbench.metrics.joint.log_loss import dyadic_joint_log_loss, joint_log_loss
from bnnbench.metrics.scores import log_loss
from tests.metrics.examples import random_prediction

RNG = torch.Generator().manual_seed(7)


def _classes(points: int, draws: int = 4):
    prediction = random_prediction(RNG, points, 3, draws)
    return prediction, torch.randint(3, (points,), generator=RNG)


def test_every_batch_has_ten_different_points_and_every_point_is_used():
    rows = batches(57)
    assert all(len(set(row)) == 10 for row in rows.tolist())
    assert set(rows.flatten().tolist()) == set(range(57))


def test_large_sets_are_partitioned_once():
    assert batches(40_009).flatten().unique().numel() == 40_000


@pytest.mark.parametrize(("points", "expected"), [(3, 3), (150, 11_175), (201, 19_899)])
def test_pairs_are_of_different_points_and_none_is_repeated(points, expected):
    first, second = pairs(points)
    assert len({frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}) == (
        expected
    )
    assert (first != second).all()
    counts = torch.cat([first, second]).bincount()
    assert counts.min() == counts.max()


def test_ten_points_score_the_product_of_probabilities_in_every_draw():
    prediction, target = _classes(10)
    probs = prediction.log_probs.exp().tolist()
    products = [math.prod(draw[n][k] for n, k in enumerate(target.tolist())) for draw in probs]
    expected = -math.log(sum(products) / len(products))
    assert joint_log_loss(prediction, target).item() == pytest.approx(expected, rel=1e-12)


def test_the_mean_over_batches_is_near_that_of_all_batches():
    prediction, target = _classes(13)
    log_probs = prediction.draw_log_probs(target).numpy()
    losses = [
        math.log(4) - np.logaddexp.reduce(log_probs[:, list(rows)].sum(1))
        for rows in itertools.combinations(range(13), 10)
    ]
    error = np.std(losses) / math.sqrt(2000)
    expected = pytest.approx(np.mean(losses), abs=4 * error)
    assert joint_log_loss(prediction, target).item() == expected


def test_draws_of_a_linear_model_approach_its_exact_joint_density():
    inputs = torch.randn(10, 2, generator=RNG, dtype=torch.float64)
    covariance = torch.tensor([[0.5, 0.2], [0.2, 0.3]], dtype=torch.float64)
    target = torch.randn(10, 1, generator=RNG, dtype=torch.float64)
    noise = torch.randn(200_000, 2, generator=RNG, dtype=torch.float64)
    means = (noise @ torch.linalg.cholesky(covariance).T @ inputs.T)[..., None]
    prediction = GaussianPredictive(means, torch.ones_like(means))
    total = (inputs @ covariance @ inputs.T).numpy() + np.eye(10)
    expected = -stats.multivariate_normal(np.zeros(10), total).logpdf(target[:, 0].numpy())
    assert joint_log_loss(prediction, target).item() == pytest.approx(expected, abs=0.02)


def test_equal_draws_score_ten_times_the_marginal_loss():
    prediction, target = _classes(40, draws=1)
    twice = CategoricalPredictive(prediction.log_probs.expand(2, -1, -1))
    expected = 10 * log_loss(prediction, target).mean().item()
    for score in (joint_log_loss, dyadic_joint_log_loss):
        assert score(twice, target).item() == pytest.approx(expected, rel=1e-12)


def test_draws_that_are_mixed_up_at_every_point_have_equal_marginals_and_a_worse_joint_score():
    slopes = torch.linspace(-2, 2, 50, dtype=torch.float64)
    inputs = torch.linspace(-1, 1, 60, dtype=torch.float64)
    means = (slopes[:, None] * inputs)[..., None]
    target = (1.5 * inputs)[:, None]
    order = torch.rand(50, 60, generator=RNG).argsort(0).unsqueeze(2)
    variance = torch.full_like(means, 0.04)
    functions = GaussianPredictive(means, variance)
    mixed = GaussianPredictive(means.gather(0, order), variance)
    assert torch.allclose(mixed.log_prob(target), functions.log_prob(target))
    for score in (joint_log_loss, dyadic_joint_log_loss):
        assert score(mixed, target) > score(functions, target) + 0.1


def test_the_dyadic_score_agrees_with_all_sequences_of_two_anchors():
    prediction, target = _classes(3)
    probs = prediction.draw_log_probs(target).exp().T.tolist()
    losses = [
        -math.log(
            sum(math.prod(draw) for draw in zip(*(probs[n] for n in sequence), strict=True)) / 4
        )
        for anchors in itertools.combinations(range(3), 2)
        for sequence in itertools.product(anchors, repeat=10)
    ]
    expected = sum(losses) / len(losses)
    assert dyadic_joint_log_loss(prediction, target).item() == pytest.approx(expected, rel=1e-12)


def test_impossible_targets_have_an_infinite_loss():
    log_probs = torch.tensor([0.0, 1.0]).log().expand(2, 20, 2)
    prediction, target = CategoricalPredictive(log_probs), torch.zeros(20, dtype=torch.long)
    for score in (joint_log_loss, dyadic_joint_log_loss):
        assert score(prediction, target) == math.inf


def _refused() -> dict[str, tuple[object, torch.Tensor]]:
    classes, target = _classes(20)
    reals = torch.zeros(3, 20, 1)
    quantiles = QuantilePredictive(torch.tensor([0.5]), torch.zeros(20, 1, 1))
    real_target = torch.zeros(20, 1)
    return {
        "one draw": (CategoricalPredictive(classes.log_probs[:1]), target),
        "only marginals": (classes.summary(), target),
        "no draws, only": (quantiles, real_target),
        "no joint law": (MarginalCategorical(classes.log_probs), target),
        "every point apart": (MarginalGaussian(reals, reals + 1), real_target),
    }


@pytest.mark.parametrize("reason", list(_refused()))
def test_without_draws_that_are_functions_there_is_no_score(reason):
    for score in (joint_log_loss, dyadic_joint_log_loss):
        with pytest.raises(CannotAnswer, match=reason):
            score(*_refused()[reason])


def test_too_few_points_have_no_score():
    prediction, target = _classes(9)
    with pytest.raises(CannotAnswer, match="10 test points"):
        joint_log_loss(prediction, target)
    one = CategoricalPredictive(prediction.log_probs[:, :1])
    with pytest.raises(CannotAnswer, match="two test points"):
        dyadic_joint_log_loss(one, target[:1])


def test_marginal_kinds_keep_their_kind_when_rescaled_and_mixed():
    parts = MarginalGaussian(torch.zeros(2, 5, 1), torch.ones(2, 5, 1))
    assert type(parts.rescaled(1.0, 2.0)) is MarginalGaussian
    assert type(mixture([parts, parts])) is MarginalGaussian


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([[0, 0], [1, 2], [-1, -1], [2, 1]], -2.801577210573726),
        ([[0, 1], [1, 0], [-1, 0]], -1.847931672518469),
    ],
)
def test_two_targets_have_the_joint_density_of_the_specifications_example(means, expected):
    """The batch has eight other points, at which all draws agree (specs/truth.md, vector 5)."""
    certain = torch.zeros(len(means), 8, dtype=torch.float64)
    rows = torch.cat([torch.tensor(means, dtype=torch.float64), certain], 1)[..., None]
    prediction = GaussianPredictive(rows, torch.full_like(rows, 0.25))
    target = torch.tensor([0.5, 0.5] + 8 * [0.0], dtype=torch.float64)[:, None]
    others = 8 * math.log(0.5 * math.sqrt(2 * math.pi))
    assert joint_log_loss(prediction, target).item() == pytest.approx(others - expected, rel=1e-12)
