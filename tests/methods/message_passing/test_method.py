"""The method as users see it: settings, coverage, stored parts, diagnostics."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.datasets.base import Gaussian as GaussianLikelihood
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.retries import Retries
from bnnbench.methods.message_passing.schedule import (
    Coupled,
    GroupSequential,
    Sequential,
    calmer,
    ramp,
)
from bnnbench.methods.networks.architectures import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Flatten,
    LeakyReLU,
    Linear,
    ReLU,
    Residual,
    Tanh,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.message_passing.digits import digits
from tests.methods.problems import classification, images, regression, stream

LEAKY = LeakyReLU(0.1)
QUICK = MessagePassing(iterations=(1, 2), batch_size=16, schedule=GroupSequential(4))


@pytest.mark.parametrize(
    "settings",
    [
        {"iterations": ()},
        {"iterations": (1, 0)},
        {"batch_size": 0},
        {"noise_stds": (0.1, -1.0)},
        {"target_variance": 0.0},
        {"predictive_variance": 0.0},
        {"predictive_variance": float("nan")},
        {"predictive_variance": 1.0, "head": "softmax"},
    ],
)
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(ValueError, match="MessagePassing needs"):
        MessagePassing(**settings)


@pytest.mark.parametrize(
    "architecture",
    [(Linear(4), Tanh(), Linear(3)), (Linear(4), BatchNorm(), Linear(3)), (ReLU(), Linear(3))],
)
def test_layers_that_are_not_covered_are_named(architecture):
    problem = replace(classification(), architecture=architecture)
    with pytest.raises(Unsupported, match="needed"):
        QUICK.fit(problem, stream(0))


def test_a_later_convolution_refuses_to_mirror_its_borders():
    mirrored = Conv2d(3, 3, padding=1, padding_mode="symmetric")
    problem = replace(images(), architecture=(mirrored, LEAKY, mirrored, Flatten(), Linear(3)))
    with pytest.raises(Unsupported, match="symmetric padding works only in the first layer"):
        QUICK.fit(problem, stream(0))


@pytest.mark.long
@pytest.mark.parametrize("shortcut", [(), (Linear(32),)])
def test_residual_networks_learn_digits(shortcut):
    train, test = (as_split(*part) for part in digits(np.random.default_rng(0)))
    body = (Linear(32), LEAKY, Linear(32))
    network = (Linear(32), LEAKY, Residual(body, shortcut), LEAKY, Linear(10))
    method = MessagePassing(iterations=(1, 1), schedule=Coupled(64))
    posterior = method.fit(Problem(train, Categorical(10), network), stream(0))
    predicted = posterior.predict(test.inputs, stream(0)).mixture_log_probs.argmax(1)
    assert (predicted == test.targets).double().mean() > 0.93


def as_split(inputs, labels):
    return Split(torch.as_tensor(inputs, dtype=torch.float32), torch.as_tensor(labels).long())


@pytest.mark.parametrize(
    "block",
    [
        Residual((Conv2d(4, 3, padding=1),)),
        Residual((Conv2d(5, 3, stride=2, padding=(0, 1)),), (Conv2d(5, 1, stride=2, bias=False),)),
    ],
)
def test_the_closed_form_of_a_residual_block_agrees_with_sampled_networks(block):
    # The block's inputs are almost certain, so that its branches are independent.
    problem = replace(
        images(0, dtype=torch.float64),
        architecture=(Conv2d(4, 1), block, AvgPool2d(2), Flatten(), Linear(3)),
    )
    trainer = QUICK._trainer([problem], [stream(0)], QUICK.prior)
    first, *others, last = trainer.stored.marginal
    sure = [replace(own, weight=narrow(own.weight), bias=narrow(own.bias)) for own in (first, last)]
    posterior = replace(QUICK.fit(problem, stream(0)), weights=(sure[0], *others, sure[1]))
    network = Network(problem.architecture, problem.input_shape, reference)
    network.start_from(posterior.weights)
    z = network.predict(problem.train.inputs[None, :4])
    parts = [part for own in posterior.weights for part in own.parts()]
    mean, std = (
        torch.cat([getattr(part, name).flatten() for part in parts])
        for name in ("mean", "variance")
    )
    noise = torch.randn(4000, len(mean), generator=stream(1), dtype=torch.float64)
    module = TorchNetwork(problem.architecture, problem.input_shape)
    sampled = torch.cat(
        [module(w[None], problem.train.inputs[None, :4]) for w in mean + std.sqrt() * noise]
    )
    assert ((sampled.mean(0) - z.mean[0]).abs() < 5 * (z.variance[0] / 4000).sqrt()).all()


def narrow(message):
    return None if message is None else Gaussian.of(message.mean, 1e-12 + 0 * message.rho)


def test_sampled_networks_and_the_closed_form_agree_where_a_network_is_linear():
    problem = replace(regression(0, rows=40), architecture=(Linear(1),))
    posterior = replace(QUICK, iterations=(3,), batch_size=40).fit(problem, stream(0))
    inputs = problem.train.inputs[:10]
    closed = posterior.predict(inputs, stream(0))
    sampled = replace(posterior, draws=4000).predict(inputs, stream(0))
    error = (closed.variance / 4000).sqrt()
    assert ((closed.mean - sampled.mean).abs() < 5 * error).all()
    assert torch.allclose(closed.variance, sampled.variance, rtol=0.15)


def test_a_posterior_survives_pickling_bit_for_bit():
    problem = classification()
    posterior = QUICK.fit(problem, stream(0))
    again = pickle.loads(pickle.dumps(posterior))
    inputs = problem.train.inputs
    first, second = (p.predict(inputs, stream(0)).log_probs for p in (posterior, again))
    assert torch.equal(first, second)


@pytest.mark.parametrize("storage", ["float32", "bfloat16"])
def test_marginals_contain_what_is_stored_in_however_few_digits(storage):
    problem = classification(0, 64, dtype=torch.float64)
    method = replace(QUICK, storage=storage, on_host=True)
    rngs = [stream(0)]
    trainer = method._trainer([problem], rngs, method.prior)
    for epoch in (1, 2, 3):
        trainer.epoch(epoch, 1, rngs)
        before = [own.weight.rho.clone() for own in trainer.stored.marginal]
        trainer.stored.recompute()
        for old, own in zip(before, trainer.stored.marginal, strict=True):
            assert torch.allclose(old, own.weight.rho, rtol=1e-12)
    assert trainer.stored.aggregates[0][0].weight.rho.dtype == getattr(torch, storage)


def test_known_noise_is_taken_as_it_is_and_unknown_noise_is_learned():
    rng = stream(3)
    inputs = torch.randn(100, 2, generator=rng)
    targets = inputs @ torch.tensor([[1.0], [-0.5]]) + 0.3 * torch.randn(100, 1, generator=rng)
    problem = Problem(Split(inputs, targets), GaussianLikelihood(), (Linear(1),))
    method = replace(QUICK, iterations=(4, 4), batch_size=50)
    learned = method.fit(problem, stream(0))
    # The weights are known to 0.03, which adds little to the squares.
    squares = float((targets - learned.predict(inputs, stream(0)).mean).square().sum())
    expected = ((method.noise_rate + squares / 2) / (method.noise_shape + 50)) ** 0.5
    assert learned.diagnostics["noise_std"] == pytest.approx(expected, rel=0.02)
    known = method.fit(replace(problem, likelihood=GaussianLikelihood(0.7)), stream(0))
    variance = known.predict(inputs[:1], stream(0)).variance
    assert float(variance) == pytest.approx(0.49, rel=0.02)


def test_every_problem_gets_the_noise_that_predicts_its_own_held_out_rows_best():
    method = replace(QUICK, iterations=(3,), batch_size=300, noise_stds=(0.05, 0.5, 5.0))
    outcomes = method.fit_many([line(0.5), line(5.0)], [stream(0), stream(1)])
    assert [fit.likelihood for fit in outcomes] == [GaussianLikelihood(0.5), GaussianLikelihood(5)]
    assert [fit.diagnostics["noise_std"] for fit in outcomes] == [0.5, 5.0]
    variances = [float(fit.predict(torch.zeros(1, 2), stream(0)).variance) for fit in outcomes]
    assert variances == [pytest.approx(0.25, rel=0.1), pytest.approx(25, rel=0.1)]


def test_the_noise_of_a_convolutional_network_is_chosen_too():
    problems = [images(seed, real=True) for seed in (0, 1)]
    method = replace(QUICK, iterations=(1,), noise_stds=(0.1, 1.0))
    outcomes = method.fit_many(problems, [stream(0), stream(1)])
    assert {fit.diagnostics["noise_std"] for fit in outcomes} <= {0.1, 1.0}


def test_without_a_sound_candidate_of_the_noise_the_fit_has_diverged():
    problem = line(0.5)
    broken = replace(problem, train=Split(problem.train.inputs * torch.inf, problem.train.targets))
    outcome = replace(QUICK, noise_stds=(0.5,)).fit_many([broken], [stream(0)])[0]
    assert isinstance(outcome, InferenceDiverged)
    assert "candidate" in str(outcome)


def line(noise_std: float) -> Problem:
    """Return a linear relation with noise."""
    rng = stream(5)
    inputs = torch.randn(300, 2, generator=rng)
    targets = inputs.sum(1, keepdim=True) + noise_std * torch.randn(300, 1, generator=rng)
    return Problem(Split(inputs, targets), GaussianLikelihood(), (Linear(1),))


def test_a_visit_that_goes_wrong_is_discarded_and_repeated_more_calmly(monkeypatch):
    problem, rngs = classification(0, 32), [stream(0)]
    method = replace(QUICK, batch_size=32, schedule=Coupled(8))
    trainer = method._trainer([problem], rngs, method.prior)
    tried = []
    attempt = Retries._attempt

    def spoiled(self, schedule, cavity, examples, index):
        found = attempt(self, schedule, cavity, examples, index)
        tried.append(schedule)
        if len(tried) < 3:  # as if messages had overflowed
            found.aggregates[0].weight.tau.fill_(torch.inf)
            return replace(found, sound=torch.zeros_like(found.sound))
        return found

    monkeypatch.setattr(Retries, "_attempt", spoiled)
    trainer.visit(0, torch.arange(32)[None], 2, 1.0)
    assert tried == [Coupled(8), Coupled(4), Coupled(2)]
    assert trainer.tally.guard_events.tolist() == [2]
    assert not trainer.retries.lost.any()
    alone = replace(method, schedule=Coupled(2))._trainer([problem], [stream(0)], method.prior)
    alone.visit(0, torch.arange(32)[None], 2, 1.0)
    for own, other in zip(trainer.stored.marginal, alone.stored.marginal, strict=True):
        assert torch.equal(own.weight.tau, other.weight.tau)


def test_a_fit_that_nothing_saves_has_diverged_and_its_company_has_not():
    sound = classification(0, 32)
    broken = replace(sound, train=Split(sound.train.inputs * torch.inf, sound.train.targets))
    outcomes = QUICK.fit_many([sound, broken], [stream(0), stream(1)])
    assert isinstance(outcomes[1], InferenceDiverged)
    alone = QUICK.fit(sound, stream(0))
    inputs = sound.train.inputs
    together = outcomes[0].predict(inputs, stream(0)).log_probs
    assert torch.equal(together, alone.predict(inputs, stream(0)).log_probs)


def test_schedules_become_calmer_until_they_are_the_published_one():
    assert calmer(Coupled(64, 0.5)) == (Coupled(32, 0.5), Coupled(16, 0.5), Sequential())
    assert calmer(GroupSequential(2, 0.2)) == (GroupSequential(1, 0.2), Sequential())
    assert calmer(Sequential()) == ()


def test_rounds_of_messages_agree_with_the_published_code():
    assert ramp(25) == (
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        4,
        5,
        5,
        6,
        6,
        7,
        7,
        8,
        8,
        9,
        9,
        10,
        10,
        11,
        11,
        12,
        12,
        13,
    )
    assert sum(ramp(25)) == 169
