"""The baseline: the training targets' distribution, independent of the input."""

import dataclasses

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.methods.problems import classification, regression, stream


def with_targets(problem, targets):
    return dataclasses.replace(problem, train=Split(problem.train.inputs, targets))


def test_class_probabilities_follow_the_rule_of_succession():
    problem = with_targets(classification(rows=5), torch.tensor([0, 0, 0, 2, 0]))
    prediction = Marginal().fit(problem, stream(0)).predict(problem.train.inputs[:2], stream(0))
    assert isinstance(prediction, CategoricalPredictive)
    expected = torch.tensor([[5 / 8, 1 / 8, 2 / 8]] * 2)
    torch.testing.assert_close(prediction.log_probs[0].exp(), expected)


def test_a_regression_predicts_the_mean_and_variance_of_the_training_targets():
    problem = regression(rows=20)
    posterior = Marginal().fit(problem, stream(0))
    prediction = posterior.predict(torch.full((3, 4), 1e6), stream(0))
    assert isinstance(prediction, GaussianPredictive)
    targets = problem.train.targets.numpy()
    np.testing.assert_allclose(prediction.mean.numpy(), np.full((3, 1), targets.mean()), rtol=1e-5)
    np.testing.assert_allclose(
        prediction.variance.numpy(), np.full((3, 1), targets.var(ddof=1)), rtol=1e-5
    )


def test_the_posterior_predicts_after_its_predictive_has_been_looked_at():
    posterior = Marginal().fit(regression(), stream(0))
    assert len(posterior.predictive.mean) == len(posterior.predictive.variance)
    assert len(posterior.predict(torch.zeros(6, 4), stream(0))) == 6


def test_one_row_has_no_variance():
    with pytest.raises(ValueError, match="two training rows"):
        Marginal().fit(regression(rows=1), stream(0))


@pytest.mark.parametrize("problem", [classification(), regression()])
def test_it_declares_that_it_ignores_the_inputs(problem):
    assert Marginal().fit(problem, stream(0)).diagnostics == {"ignores_inputs": 1.0}
