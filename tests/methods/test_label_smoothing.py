"""Label smoothing, compared with a torch loop and with the probabilities at its optimum."""

import math

import pytest
import torch
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.sgd import Sgd
from tests.methods.problems import classification, regression, stream


@pytest.mark.long
def test_at_the_optimum_probabilities_are_the_smoothed_labels():
    """Rows that differ only in their class: the outputs of a linear layer are unconstrained."""
    inputs = torch.eye(3, dtype=torch.float64).repeat_interleave(4, 0)
    targets = torch.arange(3).repeat_interleave(4)
    problem = Problem(Split(inputs, targets), Categorical(3), (Linear(3),))
    training = AdamW(learning_rate=0.05, weight_decay=0.0, epochs=1500, batch_size=12)
    posterior = LabelSmoothing(0.3, training).fit(problem, stream(0))
    probabilities = posterior.predict(torch.eye(3).double(), stream(1)).mixture_log_probs.exp()
    expected = 0.7 * torch.eye(3) + 0.1
    torch.testing.assert_close(probabilities, expected.double(), rtol=0, atol=2e-3)


def test_the_loss_is_the_cross_entropy_relative_to_smoothed_labels():
    problem = classification(dtype=torch.float64)
    stack = Stack([problem], [stream(0)], 37, label_smoothing=0.2)
    inputs, targets = problem.train.inputs[None], problem.train.targets[None]
    log_probs = stack.network(stack.weights, inputs)[0].log_softmax(1)
    labels = 0.8 * functional.one_hot(problem.train.targets, 3) + 0.2 / 3
    expected = -(labels * log_probs).sum(1).mean()
    torch.testing.assert_close(stack.loss(stack.weights, inputs, targets)[0], expected)


@pytest.mark.parametrize("training", [AdamW(epochs=2), Sgd(epochs=2)])
def test_without_a_share_it_is_the_plain_training(training):
    problem = classification()
    plain, smoothed = (
        m.fit(problem, stream(2)).predict(problem.train.inputs, stream(3)).mixture_log_probs
        for m in (training, LabelSmoothing(0.0, training))
    )
    assert torch.equal(plain, smoothed)


def test_it_lowers_confidence():
    problem = classification(rows=80)
    training = AdamW(learning_rate=1e-2, epochs=100, batch_size=16)
    confidence = [
        m.fit(problem, stream(4))
        .predict(problem.train.inputs, stream(5))
        .mixture_log_probs.max(1)
        .values.exp()
        .mean()
        for m in (training, LabelSmoothing(0.3, training))
    ]
    assert confidence[1] < confidence[0] - 0.05
    assert confidence[1] < 0.85 + math.ulp(1.0)


def test_regressions_and_shares_beyond_one_are_refused():
    with pytest.raises(Unsupported, match="LabelSmoothing needed classes"):
        LabelSmoothing().fit(regression(), stream(0))
    with pytest.raises(ValueError, match="share"):
        LabelSmoothing(1.0)
