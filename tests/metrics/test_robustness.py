"""Confidence of errors, computed by hand."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.metrics import FAR
from bnnbench.metrics.credible import SIGMA_LEVELS
from bnnbench.metrics.far import KnownFunction, cdf_at_truth
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


POSITION = torch.tensor([-20.0, -15.0, -11.0, -10.0, 0.0, 10.0, 12.0, 19.0], dtype=torch.float64)
TRUTH = 0.3 * POSITION
ERRORS = np.array([0.2, -1.0, 0.7, 50.0, 50.0, 50.0, 2.5, -0.3])
"""Distance from the predicted mean to the truth at each position, in standard deviations."""


def predicted(std: float = 0.4) -> GaussianPredictive:
    mean = TRUTH - torch.from_numpy(ERRORS) * std
    return GaussianPredictive(mean[None, :, None], torch.full((1, 8, 1), std**2).double())


def test_it_is_the_median_of_the_cdf_over_the_positions_of_a_side():
    r"""$$ \operatorname{median}_{n:\, s x_n > 10} P(y_n \le f(x_n)) $$ ; 10 itself is included."""
    function = KnownFunction(POSITION, TRUTH)
    negative, positive = (float(m.score(predicted(), function)) for m in FAR.values())
    assert list(FAR) == ["cdf_at_truth_negative", "cdf_at_truth_positive"]
    assert negative == pytest.approx(np.median(stats.norm.cdf(ERRORS[:3])), abs=1e-9)
    assert positive == pytest.approx(np.median(stats.norm.cdf(ERRORS[6:])), abs=1e-9)


@pytest.mark.long
def test_it_lies_in_an_interval_as_often_as_draws_of_the_truth_do():
    """Networks that know the distribution of the truth cover it at their nominal level."""
    rng = np.random.default_rng(0)
    position = torch.tensor([11.0], dtype=torch.float64)
    unit = GaussianPredictive(torch.zeros(1, 1, 1).double(), torch.ones(1, 1, 1).double())
    drawn = torch.from_numpy(rng.standard_normal(4000))
    cdf = [float(cdf_at_truth(unit, KnownFunction(position, t[None]), 1.0)) for t in drawn]
    for low, high in SIGMA_LEVELS:
        inside = np.mean([low < value < high for value in cdf])
        assert inside == pytest.approx(high - low, abs=4 * (0.25 / 4000) ** 0.5)


def test_inputs_that_do_not_reach_so_far_have_no_score():
    with pytest.raises(ValueError, match="beyond ±10"):
        cdf_at_truth(predicted(), KnownFunction(0.1 * POSITION, TRUTH), 1.0)
