"""Logistic regression, by its gradient, its penalty and its choice among strengths."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression as Estimator
from sklearn.metrics import log_loss

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.linear.logistic import LogisticRegression
from bnnbench.methods.tuning.rows import held_out
from tests.methods.problems import classification, regression, stream

PROBLEM = classification(rows=60, dtype=torch.float64)


def test_its_weights_have_no_gradient_of_the_penalised_loss():
    """d/dW of sum log loss + |W|² / (2C) is X'(P - Y) + W / C, and of the bias the sum of P - Y."""
    posterior = LogisticRegression(strengths=(0.3,)).fit(PROBLEM, stream(1))
    inputs, labels = PROBLEM.train.inputs.numpy(), PROBLEM.train.targets.numpy()
    weights, biases = posterior.estimator.coef_, posterior.estimator.intercept_
    logits = inputs @ weights.T + biases
    probs = np.exp(logits - np.logaddexp.reduce(logits, 1, keepdims=True))
    errors = probs - np.eye(3)[labels]
    assert np.abs(errors.T @ inputs + weights / 0.3).max() < 2e-2
    assert np.abs(errors.sum(0)).max() < 2e-2
    found = posterior.predict(PROBLEM.train.inputs, stream(2)).mixture_log_probs.exp().numpy()
    np.testing.assert_allclose(found, probs * 60 / 61 + 1 / 61 / 3, rtol=1e-9)


def test_it_chooses_the_strength_of_least_held_out_loss():
    """Cold fits of scikit-learn to the same blocks, scored by its own log loss."""
    strengths = (1e-3, 0.1, 10.0)
    losses = np.zeros(3)
    for case in held_out(PROBLEM, 5):
        rows = case.problem.train
        for place, strength in enumerate(strengths):
            model = Estimator(C=strength, max_iter=1000)
            model.fit(rows.inputs.numpy(), rows.targets.numpy())
            probs = model.predict_proba(case.inputs.numpy()) * 48 / 49 + 1 / 49 / 3
            labels = case.block.targets.numpy()
            losses[place] += log_loss(labels, probs, labels=[0, 1, 2], normalize=False)
    posterior = LogisticRegression(strengths).fit(PROBLEM, stream(1))
    assert posterior.diagnostics["strength"] == strengths[int(losses.argmin())]
    assert sorted(losses)[1] - min(losses) > 0.05  # the choice is clear


def test_a_class_is_as_probable_as_its_features_say():
    """Two classes whose log odds are linear: the fit recovers them from many rows."""
    rng = stream(5)
    inputs = torch.randn(4000, 2, generator=rng, dtype=torch.float64)
    probs = torch.sigmoid(1.5 * inputs[:, 0] - inputs[:, 1] + 0.5)
    labels = (torch.rand(4000, generator=rng) < probs).long()
    posterior = LogisticRegression().fit(
        Problem(Split(inputs, labels), Categorical(2), ()), stream(1)
    )
    found = posterior.predict(inputs, stream(2)).mixture_log_probs[:, 1].exp()
    assert (found - probs).abs().mean() < 0.02


def test_a_regression_and_strengths_that_mean_nothing_are_refused():
    with pytest.raises(Unsupported, match="use BayesianLinear"):
        LogisticRegression().fit(regression(), stream(1))
    with pytest.raises(ValueError, match="positive strengths that increase"):
        LogisticRegression(strengths=(1.0, 0.1))
