"""Times of training steps: of networks that differ in work, and the formulas in torch."""

import pytest
import torch

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import moment_rules
from bnnbench.methods.networks.architectures import LeakyReLU, Linear
from bnnbench.metrics.times import relative_train_time
from bnnbench.reports.papers.published import every
from bnnbench.suites.moment_accuracy import SUITES
from bnnbench.suites.probes.training_step import (
    Step,
    TrainingStep,
    leaky_relu_in_torch,
    rules_in_torch,
    seconds_by_turns,
)
from tests.methods.problems import stream

NETWORK = (Linear(40), LeakyReLU(0.01), Linear(3))
INPUTS = torch.randn(64, 30, generator=stream(0))
BATCH = Split(INPUTS, INPUTS[:, :3].argmax(1))
DATA = Dataset(BATCH, BATCH, Categorical(3), "generated", Scaling(torch.zeros(1), torch.ones(1)))
PLAIN = MomentPropagation(training="ap1", prediction="ap1", dropout=0.0, epochs=1)


@pytest.mark.parametrize(
    "method", [PLAIN, MomentPropagation(dropout=0.0, input_variance=0.1, epochs=1)]
)
def test_both_ways_to_implement_a_step_are_measured(method):
    posterior = method.fit(Problem(BATCH, Categorical(3), NETWORK), stream(1))
    found = TrainingStep(NETWORK, rows=16, turns=2).measure(posterior, DATA, stream(2))
    assert found.keys() == {"training_step", "training_step_in_torch"}
    assert all(one.scores["relative_train_time"] > 0 for one in found.values())


def test_steps_are_taken_by_turns_and_the_first_turn_only_warms_up():
    taken: list[str] = []
    steps = [lambda name=name: taken.append(name) for name in ("plain", "moments")]
    seconds = seconds_by_turns(steps, 3, torch.device("cpu"))
    assert taken == ["plain", "moments"] * 4
    assert [len(own) for own in seconds] == [3, 3]


def test_a_ratio_is_of_the_shortest_times():
    seconds = torch.tensor([9.0, 6.0, 7.0], dtype=torch.float64)
    plain = torch.tensor([2.0, 5.0, 4.0], dtype=torch.float64)
    assert float(relative_train_time(seconds, plain)) == 3


@pytest.mark.parametrize(
    ("slope", "mean", "variance", "printed"),
    [
        (0.01, 0.0, 1.0, 0.50005),
        (0.01, 1.0, 4.0, 3.170596476),
        (0.01, -2.0, 1.0, 0.004762785053),
        (0.1, 3.0, 0.25, 0.2499999745),
    ],
)
def test_rectifiers_in_torch_follow_the_papers_formulas(slope, mean, variance, printed):
    x = Moments(*(torch.tensor([t], dtype=torch.float64) for t in (mean, variance)))
    found = leaky_relu_in_torch(x, slope)
    assert found.variance.item() == pytest.approx(printed, rel=1e-9)
    logistic = torch.sigmoid(torch.pi * x.mean / (3 * x.variance) ** 0.5)
    density = torch.exp(-(x.mean**2) / (2 * x.variance)) / (2 * torch.pi) ** 0.5
    ramp = slope + (1 - slope) * logistic
    expected = x.mean * ramp + x.variance.sqrt() * (1 - slope) * density
    assert found.mean.item() == pytest.approx(expected.item(), rel=1e-12)


def test_gradients_in_torch_are_near_those_of_the_compiled_kernels():
    rules = moment_rules()
    ours, in_torch = (
        Step(NETWORK, BATCH, stream(4), each, 0.1) for each in (rules, rules_in_torch(rules))
    )
    one, two = (step.log_probs() for step in (ours, in_torch))
    assert torch.equal(ours.weights, in_torch.weights)
    assert torch.allclose(one, two, atol=0.05)
    assert not torch.equal(one, two)


def test_every_printed_ratio_is_a_method_of_the_profile():
    suite = SUITES["training_time"]
    printed = [row for row in every() if row.metric == "relative_train_time"]
    assert len(printed) == 4
    labels = {label.casefold() for label in suite.methods}
    assert {row.method for row in printed} == labels
    assert {row.dataset for row in printed} == {case.name for case in suite.cases}
    assert {row.condition for row in printed} == {"training_step_in_torch"}
