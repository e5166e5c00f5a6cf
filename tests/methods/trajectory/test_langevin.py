"""SGLD on Bayesian linear regression, with the known distribution of the discretised chain."""

import math

import pytest
import torch

from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.trajectory.cyclical_sgld import CyclicalSgld
from bnnbench.methods.trajectory.langevin import chains, evenly
from bnnbench.methods.trajectory.sgld import Sgld
from tests.methods.problems import exact_posterior, regression, stream, streams

NOISE, PRIOR = 0.5, 0.8


def linear():
    return regression(noise_std=NOISE, architecture=(Linear(1),), dtype=torch.float64)


@pytest.mark.long
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_the_chain_has_the_moments_of_its_stationary_law(temperature):
    problem, members = linear(), 150
    mean, precision = exact_posterior(problem, NOISE, PRIOR**-2)
    rows = len(problem.train)
    curvatures, axes = torch.linalg.eigh(precision / rows)
    rate = 0.6 / float(curvatures.max())
    # Full batches: each coordinate x along an axis is x' = (1 - l c) x + √(2 l T / N) z.
    variance = temperature / (rows * curvatures * (1 - rate * curvatures / 2))
    stack = Stack([problem] * members, streams(*range(members)), batch_size=rows)
    kept = evenly(100, 500, 10)
    samples = chains(stack, 500, PRIOR, lambda _: (rate, temperature), kept)
    assert samples.shape == (members, 10, 5)
    white = (samples.flatten(0, 1) - mean) @ axes / variance.sqrt()
    assert white.mean(0).abs().max() < 5 / math.sqrt(len(white))
    covariance = white.T @ white / len(white) - torch.eye(5, dtype=torch.float64)
    assert covariance.abs().max() < 5 * math.sqrt(2 / len(white))


@pytest.mark.long
def test_the_method_draws_from_the_posterior_with_minibatches_and_small_steps():
    problem = linear()
    mean, precision = exact_posterior(problem, NOISE, PRIOR**-2)
    method = Sgld(0.005, prior_std=PRIOR, epochs=1200, batch_size=37, burn_in=0.2, draws=300)
    fitted = method.fit_many([problem] * 8, streams(*range(8)))
    weights = torch.cat([f.weights for f in fitted if isinstance(f, NetworkPosterior)])
    assert len(weights) == 2400
    white = (weights - mean) @ torch.linalg.cholesky(precision)
    # The chain forgets in 1 / (l c) steps: some 100 of 2400 draws are independent along an axis.
    assert white.mean(0).abs().max() < 5 / math.sqrt(100)
    assert (white.var(0) - 1).abs().max() < 5 * math.sqrt(2 / 100)


@pytest.mark.parametrize("decay", [0.0, 0.55])
def test_without_temperature_it_descends_on_the_penalised_loss(decay):
    problem = linear()
    method = Sgld(0.02, decay, PRIOR, temperature=0.0, epochs=4, batch_size=99, draws=1)
    posterior = method.fit(problem, stream(3))
    assert isinstance(posterior, NetworkPosterior)
    stack = Stack([problem], streams(3), 99)
    weights = stack.weights.clone().requires_grad_()
    penalty = 1 / (len(problem.train) * PRIOR**2)
    optimiser = torch.optim.SGD([weights], lr=0.02, weight_decay=penalty)
    for step in range(4):
        optimiser.param_groups[0]["lr"] = 0.02 * (1 + step / 2) ** -decay  # two steps are burn-in
        optimiser.zero_grad()
        inputs, targets = problem.train.inputs[None], problem.train.targets[None]
        stack.loss(weights, inputs, targets).sum().backward()
        optimiser.step()
    torch.testing.assert_close(posterior.weights, weights.detach(), rtol=1e-12, atol=1e-14)


def test_kept_steps_are_the_last_of_equal_parts():
    assert evenly(10, 20, 5) == {12, 14, 16, 18, 20}
    assert evenly(10, 20, 1) == {20}
    assert evenly(0, 3, 9) == {1, 2, 3}
    assert evenly(4, 4, 2) == set()


def test_the_burn_in_is_not_kept():
    problem = linear()
    one, two = (
        Sgld(0.02, epochs=epochs, batch_size=99, burn_in=burn_in, draws=2).fit(problem, stream(3))
        for epochs, burn_in in ((4, 0.0), (4, 0.5))
    )
    assert isinstance(one, NetworkPosterior)
    assert isinstance(two, NetworkPosterior)
    assert torch.equal(one.weights[1], two.weights[1])
    assert not torch.equal(one.weights[0], two.weights[0])


def test_rates_of_cycles_agree_with_the_source_and_noise_comes_last():
    method = CyclicalSgld(0.3, cycles=3, explore=0.6, temperature=0.5, draws_per_cycle=2)
    rate, kept = method.plan(60)
    for step in range(60):
        t, length = step + 1, 20
        expected = 0.15 * (math.cos(math.pi * ((t - 1) % length) / length) + 1)
        found, temperature = rate(step)
        assert found == pytest.approx(expected, rel=1e-12)
        assert temperature == (0.5 if step % length >= 12 else 0)
    assert kept == {16, 20, 36, 40, 56, 60}


def test_more_cycles_than_steps_leave_some_of_them_empty():
    rate, kept = CyclicalSgld(cycles=5, draws_per_cycle=3).plan(3)
    assert kept == {1, 2, 3}
    assert all(rate(step)[0] > 0 for step in range(3))


def test_cycles_give_their_draws_in_any_company():
    method = CyclicalSgld(0.02, cycles=2, epochs=8, batch_size=8, draws_per_cycle=3)
    together = method.fit_many([regression(0), regression(1)], streams(0, 1))
    alone = method.fit(regression(1), stream(1))
    assert isinstance(alone, NetworkPosterior)
    assert isinstance(together[1], NetworkPosterior)
    assert alone.diagnostics["samples"] == len(alone.weights) == 6
    assert torch.equal(alone.weights, together[1].weights)
