"""Checks of predictions."""

import math

import pytest
import torch

from bnnbench.engine.run.guards.validation import LARGEST, check, check_finite, check_scores
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive


def test_half_precision_and_certainty_are_probabilities():
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        logits = torch.randn(3, 50, 10, generator=torch.Generator().manual_seed(0))
        check(CategoricalPredictive(logits.to(dtype).log_softmax(-1)), 50, 10)
    certain = CategoricalPredictive(torch.tensor([[[0.0, -torch.inf]]]))
    check(certain, 1, 2)
    check_finite(certain, certain.pack(), "clean")


@pytest.mark.parametrize("sizes", [(9, 1), (8, 2)])
def test_rows_and_columns_agree_with_the_data(sizes):
    means = torch.zeros(3, 8, 1)
    prediction = GaussianPredictive(means, means + 1)
    check(prediction, 8, 1)
    check(prediction, 8)
    with pytest.raises(
        ValueError, match=r"GaussianPredictive\.mean: needed .*shape \(\d, \d\); got"
    ):
        check(prediction, *sizes)


def test_a_limit_of_a_score_is_a_result_and_others_are_divergence():
    check_scores({"nll": math.inf, "log_odds_of_errors": math.nan, "rmse": 1e30}, "clean")
    for name, score in (("nll", -math.inf), ("nll", math.nan), ("rmse", math.inf)):
        with pytest.raises(InferenceDiverged, match=f"{name} is {score} under the condition clean"):
            check_scores({name: score}, "clean")
    with pytest.raises(InferenceDiverged, match=r"rmse is 6\.81e\+38"):
        check_scores({"rmse": 2 * LARGEST}, "clean")


def test_the_probabilities_of_each_draw_sum_to_1():
    draws = torch.tensor([2.0, 1e-30]).log()[:, None, None] - math.log(2)
    prediction = CategoricalPredictive(draws.expand(2, 5, 2))
    with pytest.raises(ValueError, match="probabilities sum to"):
        check(prediction, 5, 2)
