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


def test_a_missed_point_mass_is_not_made_up_for_by_one_that_is_hit():
    variances = torch.tensor([0.0, 0.0, 1.0])
    prediction = GaussianPredictive(torch.zeros(1, 3, 1), variances[None, :, None])
    targets = torch.tensor([[0.0], [1.0], [0.5]])
    names = ("log_likelihood", "log_likelihood_gaussian")
    assert score(prediction, targets, names).values == {
        "log_likelihood": -math.inf, "log_likelihood_gaussian": -math.inf
    }  # fmt: skip
    hit = GaussianPredictive(torch.zeros(1, 2, 1), torch.zeros(1, 2, 1))
    assert score(hit, targets[:1].repeat(2, 1), names[:1]).values == {"log_likelihood": math.inf}


def test_one_missed_output_makes_a_row_impossible_in_joint_scores_too():
    variances = torch.ones(2, 10, 2)
    variances[:, 0] = 0.0
    prediction = GaussianPredictive(torch.zeros(2, 10, 2), variances)
    targets = torch.zeros(10, 2)
    targets[0, 1] = 1.0  # the other output of this row is hit
    names = ("log_likelihood", "joint_log_loss", "joint_log_loss_dyadic")
    found = score(prediction, targets, names).values
    assert found == {
        "log_likelihood": -math.inf, "joint_log_loss": math.inf, "joint_log_loss_dyadic": math.inf
    }  # fmt: skip


def test_a_score_that_is_not_a_number_stays_so(prediction):
    prediction.means[:, 0], prediction.variances[:, 1] = math.nan, 0.0
    assert math.isnan(
        score(prediction, torch.zeros(9, 1), ["log_likelihood"]).values["log_likelihood"]
    )
