"""Confidence of errors, computed by hand."""

import math

import pytest
import torch

from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.metrics.robustness import (
    log_odds,
    mean_log_odds_of_errors,
    median_log_odds_of_errors,
    zero_gradient,
)

PROBS = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6], [0.4, 0.4, 0.2]])
PREDICTION = CategoricalPredictive(PROBS.double().log()[None])
TARGET = torch.tensor([1, 1, 1, 1])


def test_odds_are_of_the_predicted_class_against_the_true_one():
    expected = torch.tensor([3.5, 1.0, 6.0, 1.0]).double().log()
    torch.testing.assert_close(log_odds(PREDICTION, TARGET), expected, rtol=1e-6, atol=1e-7)


def test_mean_and_median_are_over_errors_alone_a_lost_tie_among_them():
    mean = float(mean_log_odds_of_errors(PREDICTION, TARGET))
    assert mean == pytest.approx((math.log(3.5) + math.log(6.0)) / 3, rel=1e-6)
    assert float(median_log_odds_of_errors(PREDICTION, TARGET)) == pytest.approx(math.log(3.5))


def test_an_error_of_probability_0_makes_the_mean_infinite_and_not_the_median():
    impossible = PROBS.double().clone()
    impossible[2] = torch.tensor([0.4, 0.0, 0.6])
    prediction = CategoricalPredictive(impossible.log()[None])
    assert float(mean_log_odds_of_errors(prediction, TARGET)) == math.inf
    assert float(median_log_odds_of_errors(prediction, TARGET)) == pytest.approx(math.log(3.5))


def test_without_errors_there_is_no_number():
    right = PROBS.argmax(1)
    assert mean_log_odds_of_errors(PREDICTION, right).isnan()
    assert median_log_odds_of_errors(PREDICTION, right).isnan()


def test_a_gradient_is_zero_only_where_all_of_it_is():
    gradient = torch.zeros(3, 2, 2)
    gradient[1, 0, 1] = -1e-30
    assert zero_gradient(gradient, torch.zeros(3)).tolist() == [1.0, 0.0, 1.0]
