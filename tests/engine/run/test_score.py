"""From predictions to numbers."""

import math

import pytest
import torch
from sklearn.metrics import root_mean_squared_error

from bnnbench.engine.run.score import score
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive

METRES = {"name": "height", "unit": "m", "mean": 5.0, "std": 2.0}


@pytest.fixture
def prediction():
    rng = torch.Generator().manual_seed(0)
    means = torch.randn(4, 9, 1, generator=rng)
    return GaussianPredictive(means, torch.rand(4, 9, 1, generator=rng) + 0.5)


def test_regression_is_scored_in_original_units(prediction):
    targets = torch.linspace(-1, 1, 9)[:, None]
    expected = root_mean_squared_error(
        5 + 2 * targets.double().numpy(), 5 + 2 * prediction.mean.numpy()
    )
    assert score(prediction, targets, ["rmse"], METRES).values["rmse"] == pytest.approx(expected)


def test_the_two_log_likelihoods_differ_by_the_log_of_the_unit(prediction):
    targets = torch.linspace(-1, 1, 9)[:, None]
    both = score(
        prediction, targets, ["log_likelihood", "log_likelihood_standardised"], METRES
    ).values
    difference = both["log_likelihood_standardised"] - both["log_likelihood"]
    assert difference == pytest.approx(math.log(2.0))


def test_a_prediction_of_the_wrong_kind_is_named(prediction):
    classes = CategoricalPredictive(torch.full((1, 9, 2), 0.5).log())
    with pytest.raises(TypeError, match="has a real target; got a CategoricalPredictive"):
        score(classes, torch.zeros(9, 1), ["rmse"], METRES)
    with pytest.raises(TypeError, match="has classes; got a GaussianPredictive"):
        score(prediction, torch.zeros(9, dtype=torch.long), ["accuracy"])


def test_predictions_and_targets_must_agree_in_length(prediction):
    with pytest.raises(ValueError, match="9 predictions for 3 targets"):
        score(prediction, torch.zeros(3, 1), ["rmse"], METRES)
