import math

import numpy as np
import pytest
import sklearn.metrics
import torch
from scipy import stats

from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    CategoricalSummary,
    GaussianPredictive,
)
from bnnbench.metrics.scores import (
    absolute_error,
    accuracy,
    brier_score,
    gaussian_log_likelihood,
    log_likelihood,
    log_loss,
    root_mean_squared_error,
    smoothed_log_likelihood,
    top_k_accuracy,
)
from tests.metrics.examples import categorical, random_prediction


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def case(rng):
    labels = torch.randint(7, (200,), generator=rng)
    return random_prediction(rng, points=200, classes=7, draws=3), labels


def test_scores_agree_with_scikit_learn(case):
    prediction, labels = case
    probs = prediction.log_probs.exp().mean(0).numpy()
    every = range(7)
    assert log_loss(prediction, labels).mean().item() == pytest.approx(
        sklearn.metrics.log_loss(labels, probs, labels=every), rel=1e-12
    )
    assert accuracy(prediction, labels).mean().item() == pytest.approx(
        sklearn.metrics.accuracy_score(labels, probs.argmax(1))
    )
    for k in (2, 5):
        assert top_k_accuracy(prediction, labels, k).mean().item() == pytest.approx(
            sklearn.metrics.top_k_accuracy_score(labels, probs, k=k, labels=every)
        )
    binary = [sklearn.metrics.brier_score_loss(labels == k, probs[:, k]) for k in every]
    assert brier_score(prediction, labels).mean().item() == pytest.approx(sum(binary), rel=1e-12)


def test_the_log_loss_is_the_mixtures_and_not_the_mean_of_the_draws(case):
    prediction, labels = case
    each = [log_loss(CategoricalPredictive(draw[None]), labels) for draw in prediction.log_probs]
    assert log_loss(prediction, labels).mean() < torch.stack(each).mean() - 0.1


def test_the_lowest_of_equally_probable_classes_is_predicted():
    prediction = categorical(torch.tensor([[0.2, 0.4, 0.4], [0.25, 0.25, 0.5]]))
    assert accuracy(prediction, torch.tensor([1, 2])).tolist() == [1, 1]
    assert accuracy(prediction, torch.tensor([2, 1])).tolist() == [0, 0]
    assert top_k_accuracy(prediction, torch.tensor([2, 0]), 2).tolist() == [1, 1]
    assert top_k_accuracy(prediction, torch.tensor([1, 1]), 2).tolist() == [1, 0]


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_everything_is_among_the_top_5_of_five_classes(rng, classes):
    labels = torch.randint(classes, (20,), generator=rng)
    assert (top_k_accuracy(random_prediction(rng, 20, classes), labels) == 1).all()


def test_a_single_class_is_known_for_certain():
    prediction, labels = categorical(torch.ones(3, 1)), torch.zeros(3, dtype=torch.int64)
    assert log_loss(prediction, labels).tolist() == [0, 0, 0]
    assert brier_score(prediction, labels).tolist() == [0, 0, 0]


def test_an_impossible_target_has_infinite_loss():
    prediction = categorical(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    labels = torch.tensor([1, 1])
    assert log_loss(prediction, labels).tolist() == [math.inf, pytest.approx(math.log(2))]
    assert log_likelihood(prediction, labels)[0] == -math.inf
    assert brier_score(prediction, labels).tolist() == [2, 0.5]


def test_a_target_that_one_draw_holds_possible_has_finite_loss():
    probs = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]])
    prediction = CategoricalPredictive(probs.log())
    assert log_loss(prediction, torch.tensor([1])).item() == pytest.approx(math.log(4))


def test_probabilities_too_small_for_a_double_keep_their_loss():
    prediction = CategoricalPredictive(torch.tensor([[[0.0, -2000.0]]], dtype=torch.float64))
    assert log_loss(prediction, torch.tensor([1])).item() == pytest.approx(2000)


def test_a_summary_scores_as_what_it_sums_up(case):
    prediction, labels = case
    summary = prediction.summary()
    assert isinstance(summary, CategoricalSummary)
    for score in (accuracy, top_k_accuracy, log_loss, brier_score, smoothed_log_likelihood):
        torch.testing.assert_close(score(summary, labels), score(prediction, labels))


def test_a_smoothed_log_likelihood_has_a_floor_and_is_else_the_plain_one():
    probs = torch.tensor([[[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]], dtype=torch.float64)
    found = smoothed_log_likelihood(CategoricalPredictive(probs.log()), torch.tensor([1, 1]))
    assert found.tolist() == pytest.approx(
        [math.log(1e-4 / 3), math.log(0.3 * (1 - 1e-4) + 1e-4 / 3)]
    )


def test_single_precision_predictions_are_scored_in_double_precision(rng):
    logits = torch.randn(4, 50, 3, generator=rng)
    prediction = CategoricalPredictive(logits.log_softmax(-1))
    labels = torch.randint(3, (50,), generator=rng)
    reference = CategoricalPredictive(prediction.log_probs.double())
    for score in (log_loss, brier_score, accuracy):
        assert score(prediction, labels).dtype == torch.float64
        torch.testing.assert_close(
            score(prediction, labels), score(reference, labels), rtol=1e-14, atol=1e-15
        )


@pytest.fixture
def regression(rng):
    means = torch.randn(5, 30, 2, generator=rng, dtype=torch.float64)
    variances = torch.rand(5, 30, 2, generator=rng, dtype=torch.float64) + 0.1
    return GaussianPredictive(means, variances), torch.randn(30, 2, generator=rng)


def test_errors_are_averaged_over_outputs(regression):
    prediction, target = regression
    mean = prediction.means.mean(0).numpy()
    assert root_mean_squared_error(prediction, target).item() == pytest.approx(
        math.sqrt(sklearn.metrics.mean_squared_error(target, mean))
    )
    assert absolute_error(prediction, target).mean().item() == pytest.approx(
        sklearn.metrics.mean_absolute_error(target, mean)
    )


def test_a_mixtures_density_is_the_mean_density_of_its_draws(regression):
    prediction, target = regression
    draws = zip(prediction.means.numpy(), prediction.variances.numpy(), strict=True)
    densities = [stats.norm.pdf(target.numpy(), m, np.sqrt(v)).prod(1) for m, v in draws]
    np.testing.assert_allclose(
        log_likelihood(prediction, target), np.log(np.mean(densities, axis=0)), rtol=1e-12
    )


def test_the_matched_gaussian_has_the_mixtures_moments(regression):
    prediction, target = regression
    second = (prediction.variances + prediction.means**2).mean(0)
    std = (second - prediction.means.mean(0) ** 2).sqrt()
    expected = stats.norm.logpdf(target.numpy(), prediction.means.mean(0), std).sum(1)
    np.testing.assert_allclose(gaussian_log_likelihood(prediction, target), expected, rtol=1e-12)


def test_densities_of_original_units_are_less_by_the_log_of_the_scale(rng):
    means = torch.randn(3, 20, 1, generator=rng, dtype=torch.float64)
    prediction, target = (
        GaussianPredictive(means, means**2 + 0.1),
        torch.randn(20, 1, generator=rng),
    )
    torch.testing.assert_close(
        log_likelihood(prediction.rescaled(-3.0, 7.0), -3.0 + 7.0 * target.double()),
        log_likelihood(prediction, target) - math.log(7),
    )


def test_a_prediction_without_variance_is_a_point_mass():
    prediction = GaussianPredictive(torch.zeros(1, 3, 1), torch.zeros(1, 3, 1))
    target = torch.tensor([[-1.0], [0.0], [1e-30]])
    for score in (log_likelihood, gaussian_log_likelihood):
        assert score(prediction, target).tolist() == [-math.inf, math.inf, -math.inf]


def test_a_variance_too_small_for_the_error_has_no_density_left():
    prediction = GaussianPredictive(torch.zeros(1, 1, 1), torch.full((1, 1, 1), 1e-310).double())
    assert log_likelihood(prediction, torch.ones(1, 1)).item() == -math.inf
