"""Backpropagation against torch's own optimiser, and what the search decides."""

import dataclasses
import math

import pytest
import torch
from torch.nn import functional

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.fitting.expected_improvement import Range
from bnnbench.methods.fitting.validation_search import held_out
from bnnbench.methods.networks.architectures import Linear, ReLU, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.row_by_row import backprop
from bnnbench.methods.row_by_row.backprop import RANGES, Backprop
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from tests.methods.problems import classification, design, regression, stream

SETTINGS = {"learning_rate": 0.02, "momentum": 0.8, "weight_decay": 0.01}


def two_outputs(architecture):
    problem = regression(architecture=architecture, dtype=torch.float64)
    targets = torch.cat([problem.train.targets, problem.train.inputs[:, :1]], dim=1)
    return dataclasses.replace(problem, train=Split(problem.train.inputs, targets))


PROBLEMS = {
    "one output": regression(architecture=mlp([7], 1), dtype=torch.float64),
    "linear": regression(architecture=mlp([], 1), dtype=torch.float64),
    "two hidden layers": two_outputs(mlp([6, 5], 2)),
    "tanh": two_outputs(mlp([6, 5], 2, activation=Tanh())),
    "classes": classification(architecture=mlp([7, 4], 3), dtype=torch.float64),
}


def by_torch(problem, settings, epochs, rng):
    """Return the weights after plain SGD of torch on single rows."""
    rows = RowPerceptron(problem)
    weights = rows.in_torch(rows.initial(rng))[None].requires_grad_()
    optimiser = torch.optim.SGD(
        [weights],
        lr=settings["learning_rate"],
        momentum=settings["momentum"],
        weight_decay=settings["weight_decay"],
    )
    train = problem.train
    for _ in range(epochs):
        for row in torch.randperm(len(train), generator=rng):
            outputs = rows.network(weights, train.inputs[row][None, None])[0, 0]
            if rows.categorical:
                loss = functional.cross_entropy(outputs, train.targets[row])
            else:
                loss = 0.5 * (outputs - train.targets[row]).square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return weights.detach()


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_five_epochs_equal_torchs_optimiser_on_single_rows(problem):
    fitted = Backprop(epochs=5)._descend(problem, SETTINGS, stream(3))
    expected = by_torch(problem, SETTINGS, 5, stream(3))
    torch.testing.assert_close(fitted.weights, expected, rtol=1e-9, atol=1e-11)


def test_small_steps_end_at_ridge_regression():
    problem = regression(rows=60, architecture=mlp([], 1), dtype=torch.float64)
    rows, targets = design(problem), problem.train.targets[:, 0]
    decay = 0.05
    gram = rows.T @ rows / 60 + decay * torch.eye(5, dtype=torch.float64)
    ridge = torch.linalg.solve(gram, rows.T @ targets / 60)
    settings = {"learning_rate": 2e-4, "momentum": 0.5, "weight_decay": decay}
    fitted = Backprop(epochs=1000)._descend(problem, settings, stream(0))
    torch.testing.assert_close(fitted.weights[0], ridge, rtol=0, atol=2e-3)


def test_the_noise_variance_is_the_mean_squared_error_of_the_held_out_rows():
    problem, method = regression(dtype=torch.float64), Backprop(epochs=3, trials=1)
    posterior = method.fit(problem, stream(7))
    rng = stream(7)
    rest, validation = held_out(problem.train, 0.2, rng)
    (seed,) = torch.randint(2**62, (1,), generator=rng).tolist()
    settings = {name: posterior.diagnostics[name] for name in RANGES}
    weights = by_torch(dataclasses.replace(problem, train=rest), settings, 3, stream(seed))
    network = RowPerceptron(problem).network
    error = network(weights, validation.inputs[None])[0] - validation.targets
    variance = posterior.predict(validation.inputs, stream(0)).variance
    torch.testing.assert_close(
        variance, error.square().mean().expand(variance.shape), rtol=1e-8, atol=0
    )
    assert posterior.diagnostics["noise_std"] == pytest.approx(float(variance[0, 0].sqrt()))


def test_known_noise_stays():
    posterior = Backprop(epochs=2, trials=2).fit(regression(noise_std=0.5), stream(0))
    assert posterior.diagnostics["noise_std"] == 0.5
    variance = posterior.predict(regression().train.inputs, stream(0)).variance
    assert (variance == 0.25).all()


def test_the_search_beats_most_single_guesses():
    """A curve that needs many steps: 20 trials against what each of 20 guesses would give."""
    rng = stream(4)
    inputs = torch.rand(150, 1, generator=rng, dtype=torch.float64) * 4 - 2
    targets = (3 * inputs).sin() + 0.1 * torch.randn(150, 1, generator=rng, dtype=torch.float64)
    problem = Problem(Split(inputs[:100], targets[:100]), Gaussian(), mlp([20], 1))

    def error(trials: int, seed: int) -> float:
        try:
            posterior = Backprop(trials=trials).fit(problem, stream(seed))
        except InferenceDiverged:
            return math.inf
        mean = posterior.predict(inputs[100:], stream(0)).mean
        return float((mean - targets[100:]).square().mean())

    chosen = error(20, seed=0)
    guesses = [error(1, seed) for seed in range(20)]
    assert chosen < sorted(guesses)[5]
    assert chosen < targets[100:].var() / 2


def test_rates_that_explode_are_divergence_and_not_an_error(monkeypatch):
    monkeypatch.setattr(backprop, "RANGES", RANGES | {"learning_rate": Range(1e2, 1e4, log=True)})
    with pytest.raises(InferenceDiverged, match="each of 3 trials"):
        Backprop(trials=3).fit(regression(), stream(0))


def test_some_exploding_trials_only_cost_their_trial(monkeypatch):
    monkeypatch.setattr(backprop, "RANGES", RANGES | {"learning_rate": Range(1e-3, 1e3, log=True)})
    posterior = Backprop(trials=15, epochs=10).fit(regression(), stream(0))
    assert 0 < posterior.diagnostics["diverged_trials"] < 15
    assert posterior.diagnostics["learning_rate"] < 1
    assert posterior.diagnostics["validation_loss"] < math.log(0.5)


def test_targets_without_any_noise_leave_a_positive_variance():
    problem = regression(architecture=(Linear(1),), true_std=0.0)
    silent = dataclasses.replace(
        problem, train=Split(problem.train.inputs, 0 * problem.train.targets)
    )
    posterior = Backprop(trials=3, epochs=100).fit(silent, stream(0))
    assert (posterior.predict(problem.train.inputs, stream(0)).variance > 0).all()


def test_other_layers_and_settings_are_refused():
    with pytest.raises(Unsupported, match="ReLU or Tanh"):
        Backprop().fit(regression(architecture=(Linear(3), ReLU(), ReLU(), Linear(1))), stream(0))
    for wrong in ({"trials": 0}, {"epochs": 0}, {"validation_share": 1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Backprop(**wrong)
