"""Iterates, compared with torch's own optimiser and schedules on the same batches."""

from dataclasses import replace

import pytest
import torch
from jaxtyping import TypeCheckError
from torch.distributions import Normal
from torch.nn import functional

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.validation_search import held_out
from bnnbench.methods.networks.architectures import BatchNorm, Linear, ReLU, Tanh
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory.collector import Descent, collect, follow, require_iterates
from bnnbench.methods.trajectory.schedules import (
    Constant,
    Cosine,
    EarlyStop,
    HighThenLow,
    Plateau,
    PlateauFactors,
)
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swag import Swag
from tests.methods.problems import classification, regression, stream, streams

WIDE = (Linear(7), ReLU(), Linear(2))
DESCENT = Descent(0.02, 0.9, 1e-2, epochs=6, batch_size=8, start=0.0)


def by_hand(problem, seed, descent, factor):
    """Return the weights at every epoch's end, by torch.optim.SGD and a plain network."""
    rng = stream(seed)
    network = TorchNetwork(WIDE, (4,))
    weights = network.initial_weights([rng], dtype=torch.float64).requires_grad_()
    shared = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    batches = Minibatches([problem], [rng], descent.batch_size)
    optimiser = torch.optim.SGD(
        [weights, shared], descent.learning_rate, descent.momentum, 0.0, descent.weight_decay
    )
    ends = []
    for epoch in range(descent.epochs):
        for group in optimiser.param_groups:
            group["lr"] = descent.learning_rate * factor(epoch)
        for inputs, targets in batches.epoch():
            outputs = network(weights, inputs)
            variance = functional.softplus(outputs[..., 1:]) + functional.softplus(shared)
            loss = -Normal(outputs[..., :1], variance.sqrt()).log_prob(targets).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        ends.append(torch.cat([weights[0], shared]).detach().clone())
    return torch.stack(ends)


@pytest.mark.parametrize(
    ("schedule", "factor"),
    [
        (Constant(), lambda epoch: 1.0),
        (HighThenLow(0.1), lambda epoch: (1, 1, 1, 1, 0.1 + 0.9 * 7 / 12, 1 - 0.9 * 5 / 6)[epoch]),
    ],
)
def test_iterates_agree_with_torch_on_the_same_batches(schedule, factor):
    problem = regression(dtype=torch.float64)
    descent = replace(DESCENT, schedule=schedule)
    found = collect([problem], streams(3), descent)
    expected = by_hand(problem, 3, descent, factor)
    torch.testing.assert_close(found.samples[0], expected, rtol=1e-10, atol=1e-12)
    assert torch.equal(found.stack.weights[0], found.samples[0, -1])


def test_a_stack_equals_its_members_alone_bit_for_bit():
    problems = [regression(seed) for seed in range(3)]
    for descent in (DESCENT, replace(DESCENT, schedule=Plateau(0.5, 0), bias_rate=2.0)):
        together = collect(problems, streams(5, 6, 7), descent)
        for member, problem in enumerate(problems):
            alone = collect([problem], streams(5 + member), descent)
            assert torch.equal(together.samples[member], alone.samples[0])


@pytest.mark.parametrize(
    ("start", "every", "epochs", "kept"),
    [
        (160 / 300, 5, 300, range(165, 301, 5)),
        (161 / 300, 1, 300, range(162, 301)),
        (0.0, 1, 3, range(1, 4)),
        (0.5, 4, 10, range(9, 10)),
    ],
)
def test_the_epochs_that_are_kept(start, every, epochs, kept):
    descent = Descent(epochs=epochs, start=start, every=every)
    assert [done for done in range(1, epochs + 1) if descent.keeps(done)] == list(kept)
    assert descent.iterate_count == len(kept)


def test_the_ring_holds_the_last_iterates():
    problem = regression()
    every = collect([problem], streams(3), DESCENT).samples
    ring = collect([problem], streams(3), DESCENT, last=2).samples
    assert torch.equal(ring, every[:, -2:])


def test_a_descent_that_keeps_nothing_is_refused():
    nothing = Descent(epochs=4, every=3)
    with pytest.raises(ValueError, match="keeps iterates"):
        collect([regression()], streams(0), nothing)
    with pytest.raises(ValueError, match=r"at least 1 iterates.*keep 0"):
        require_iterates(nothing, nothing, 1)


def test_biases_have_a_learning_rate_of_their_own():
    problem = regression()
    once, twice = (
        collect(
            [problem], streams(3), replace(DESCENT, epochs=1, batch_size=99, bias_rate=rate)
        ).samples[0, 0]
        for rate in (1.0, 2.0)
    )
    network = TorchNetwork(WIDE, (4,))
    start = torch.cat([network.initial_weights(streams(3))[0], torch.zeros(1)])
    rates = torch.ones_like(start)
    for part in network.parameters:
        if part.name == "bias":
            rates[part.offset : part.stop] = 2
    torch.testing.assert_close(twice - start, rates * (once - start), rtol=1e-4, atol=1e-7)


def test_running_statistics_are_kept_with_each_iterate():
    problem = classification(architecture=(Linear(5), BatchNorm(), Tanh(), Linear(3)))
    seen = []
    follow([problem], streams(1), DESCENT, lambda stack: seen.append(stack.buffers.clone()))
    found = collect([problem], streams(1), DESCENT)
    assert torch.equal(found.buffers, torch.stack(seen, 1))
    assert len(found.buffers[0].unique(dim=0)) == DESCENT.epochs


def test_the_plateau_cuts_as_torch_does():
    losses = torch.rand(60, 2, generator=stream(0), dtype=torch.float64) - 0.3
    factors = PlateauFactors(Plateau(0.5, patience=3), torch.zeros(2, 1, dtype=torch.float64))
    parameter = torch.zeros(1, requires_grad=True)
    optimisers = [torch.optim.SGD([parameter], lr=1.0) for _ in range(2)]
    rules = [
        torch.optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=3) for o in optimisers
    ]
    for row in losses:
        factors.update(row)
        for member, (optimiser, rule) in enumerate(zip(optimisers, rules, strict=True)):
            rule.step(float(row[member]))
            assert float(factors.factors[member]) == optimiser.param_groups[0]["lr"]
    assert (factors.factors < 1).all()


def test_rows_that_validate_are_not_trained_on():
    problem = regression()
    rest, validation = held_out(problem.train, 1 / 9, stream(3))
    assert len(validation) == 4
    rng = stream(3)
    torch.randperm(37, generator=rng)
    alone = collect([replace(problem, train=rest)], [rng], DESCENT)
    patient = replace(DESCENT, schedule=Plateau(0.5, patience=99))
    assert torch.equal(collect([problem], streams(3), patient).samples, alone.samples)


@pytest.mark.parametrize("epoch", range(7))
def test_the_cosine_agrees_with_torch(epoch):
    parameter = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=7)
    for _ in range(epoch):
        optimiser.step()
        schedule.step()
    assert Cosine().factor(epoch, 3, 7) == pytest.approx(schedule.get_last_lr()[0])


def test_known_noise_is_used_and_not_learned():
    problem = regression(noise_std=0.4)
    stack = collect([problem], streams(0), DESCENT).stack
    assert not stack.heteroscedastic
    assert stack.posterior(0).noise_variance == pytest.approx(0.16)


def test_a_network_without_a_last_linear_layer_is_refused():
    problem = replace(regression(), architecture=(Linear(1), BatchNorm()))
    with pytest.raises(Unsupported, match="heteroscedastic=False"):
        collect([problem], streams(0), DESCENT)
    homoscedastic = replace(DESCENT, heteroscedastic=False)
    assert collect([problem], streams(0), homoscedastic).stack.likelihood == Gaussian()


@pytest.mark.parametrize("rule", ["torch", "xavier", "he_fan_out", "he_truncated"])
def test_a_trajectory_begins_with_weights_of_the_rule(rule):
    problem = classification()
    still = Descent(1e-30, weight_decay=0.0, epochs=1, start=0.0, initialisation=rule)
    network = TorchNetwork(problem.architecture, problem.input_shape)
    (start,) = network.initial_weights(streams(1), rule, problem.train.inputs.dtype)
    (ends,) = collect([problem], streams(1), still).samples
    assert torch.allclose(ends[0], start, rtol=0, atol=1e-20)
    chain = Sgld(1e-30, temperature=0.0, epochs=1, draws=1, initialisation=rule)
    fitted = chain.fit(problem, *streams(1))
    assert torch.allclose(fitted.weights[0], start, rtol=0, atol=1e-20)


def test_a_rule_of_initial_weights_is_one_of_those_there_are():
    for method in (Descent, Sgld):
        with pytest.raises((ValueError, TypeCheckError), match="initialisation"):
            method(initialisation="zeros")


def ages(losses: list[float]) -> list[int]:
    """Return the number of epochs since the lowest loss, after each epoch."""
    return [done - 1 - losses.index(min(losses[:done])) for done in range(1, len(losses) + 1)]


@pytest.mark.parametrize("seed", range(5))
def test_a_descent_ends_when_its_lowest_loss_has_the_age_of_the_patience(seed):
    losses = torch.rand(120, generator=stream(seed), dtype=torch.float64).cumsum(0)
    losses = (losses - 0.5 * torch.arange(120)).tolist()  # a random walk, with many new lows
    patience = 4
    rule = EarlyStop(patience, epochs=90)
    found = [done for done, loss in enumerate(losses, 1) if rule.ends(done, loss)]
    wanted = [done for done, age in enumerate(ages(losses), 1) if done > 60 and age == patience]
    assert found == wanted


def test_a_lowest_loss_that_was_too_old_before_two_thirds_ends_nothing():
    rule = EarlyStop(patience=5, epochs=30)
    before = [rule.ends(done, 0.0) for done in range(1, 101)]
    assert not any(before)
    after = [rule.ends(done, loss) for done, loss in zip(range(101, 111), [-1.0] * 10, strict=True)]
    assert after.index(True) == 5


@pytest.mark.long
def test_an_early_stop_ends_the_same_descent_sooner():
    problems = [regression(seed) for seed in range(3)]
    patient = replace(DESCENT, learning_rate=0.02, epochs=90, schedule=Plateau(0.99, 2))
    stopping = replace(patient, schedule=Plateau(0.99, 2, early_stop=True))
    lengths = []
    for number, problem in enumerate(problems):
        whole = collect([problem], streams(number), patient).samples
        ended = collect([problem], streams(number), stopping)
        lengths.append(ended.samples.shape[1])
        assert torch.equal(ended.samples, whole[:, : lengths[-1]])
        assert torch.equal(ended.stack.weights[0], whole[0, lengths[-1] - 1])
    assert min(lengths) > 60
    assert len(set(lengths)) > 1
    swag = Swag(stopping).fit_many(problems, streams(0, 1, 2))
    assert [p.diagnostics["iterates"] for p in swag if not isinstance(p, Exception)] == lengths
    with pytest.raises(ValueError, match="one problem"):
        collect(problems, streams(0, 1, 2), stopping)
