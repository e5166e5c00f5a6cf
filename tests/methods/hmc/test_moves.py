"""Leapfrog, Gibbs draws and warm-up, each compared with its definition."""

from itertools import pairwise

import pytest
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.hmc.adaptation import DualAveraging, RunningVariance, pooled, window_ends
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.precisions import GammaPrior, PrecisionDraws
from bnnbench.methods.hmc.sampling import van_der_corput
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.networks.architectures import Linear, Tanh
from bnnbench.methods.networks.catalogue import mlp
from tests.methods.problems import stream, streams

DATA, PRIOR = 4.0, 0.7
"""Noise and weight precision."""


def loss_at(states, architecture):
    """Return the loss of every state on the same few points, with its gradient."""
    rng = stream(0)
    inputs = torch.randn(6, 1, generator=rng, dtype=torch.float64)
    targets = torch.randn(6, 1, generator=rng, dtype=torch.float64)
    network = ScaledPerceptron.of(Problem(Split(inputs, targets), Gaussian(), architecture))
    members = len(states)
    loss = network.loss(inputs.expand(members, -1, -1), targets.expand(members, -1, -1), Gaussian())
    loss.states[:, torch.cat(network.groups)] = states
    loss.differentiate()
    return network, loss


SMOOTH = mlp([3], 1, activation=Tanh())


def flow(states, momenta, step, steps, architecture=SMOOTH):
    """Return states, momenta and the change of energy after some steps."""
    network, loss = loss_at(states, architecture)
    places = torch.cat(network.groups)
    all_momenta = torch.zeros_like(loss.states)
    all_momenta[:, places] = momenta
    one = torch.ones(len(states), 1, dtype=torch.float64)
    before = energy(loss, all_momenta)
    steps = torch.as_tensor(steps).expand(len(states))
    drift = network.free * step * one
    loss.leapfrog(all_momenta, drift, -step * DATA * one, -step * PRIOR * one, steps)
    change = energy(loss, all_momenta * network.free) - before
    return loss.states[:, places], all_momenta[:, places], change


def energy(loss, momenta):
    squares = PRIOR * loss.states.square() + momenta.square()
    return DATA * loss.value() + squares.sum(1) / 2


def random(members, size, seed):
    return torch.randn(members, size, generator=stream(seed), dtype=torch.float64)


def test_leapfrog_runs_back_to_where_it_came_from():
    start, momenta = random(5, 10, 1), random(5, 10, 2)
    there, speed, _ = flow(start, momenta, 0.1, 30)
    back, reversed_speed, _ = flow(there, -speed, 0.1, 30)
    assert (there - start).abs().max() > 0.5
    torch.testing.assert_close(back, start, rtol=0, atol=1e-9)
    torch.testing.assert_close(-reversed_speed, momenta, rtol=0, atol=1e-9)


def test_its_energy_error_falls_with_the_square_of_the_step():
    start, momenta = random(200, 10, 1), random(200, 10, 2)
    errors = [
        flow(start, momenta, 0.04 / refined, 25 * refined)[2].square().mean().sqrt()
        for refined in (1, 2, 4)
    ]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(4, rel=0.1)


def test_it_keeps_volumes():
    point = random(1, 8, 3)[:, :8]
    architecture = mlp([1], 1, activation=Tanh())
    size, step = 4, 1e-6
    moved = point + step * torch.cat([torch.eye(8), -torch.eye(8)]).double()
    states, momenta, _ = flow(moved[:, :size], moved[:, size:], 0.3, 5, architecture)
    ends = torch.cat([states, momenta], dim=1)
    jacobian = (ends[:8] - ends[8:]) / (2 * step)
    assert float(jacobian.det()) == pytest.approx(1, abs=1e-6)
    assert (jacobian - torch.eye(8)).abs().max() > 0.5


def test_members_with_trajectories_of_different_lengths_stop_each_at_its_own():
    start, momenta = random(3, 10, 1), random(3, 10, 2)
    together = flow(start, momenta, 0.1, [2, 7, 4])
    for member, steps in enumerate([2, 7, 4]):
        alone = flow(start, momenta, 0.1, steps)
        for one, other in zip(together, alone, strict=True):
            assert torch.equal(one[member], other[member])


def test_precisions_are_drawn_from_the_conditional_found_by_quadrature():
    numbers = torch.tensor([0.3, -1.2, 0.8, 2.0, -0.1], dtype=torch.float64)
    grid = torch.linspace(1e-6, 12, 200_001, dtype=torch.float64)
    prior = torch.distributions.Gamma(3.0, 2.0).log_prob(grid)
    likelihood = torch.distributions.Normal(0, grid.rsqrt()[:, None]).log_prob(numbers).sum(1)
    density = (prior + likelihood).exp()
    density /= torch.trapezoid(density, grid)
    mean = float(torch.trapezoid(grid * density, grid))
    variance = float(torch.trapezoid((grid - mean) ** 2 * density, grid))

    count = 100_000
    draws = PrecisionDraws(GammaPrior(3.0, 2.0), 5, streams(4), count, 1)
    found = draws.given(0, (numbers.square().sum() / 2).expand(count))
    assert float(found.mean()) == pytest.approx(mean, abs=5 * (variance / count) ** 0.5)
    assert float(found.var()) == pytest.approx(variance, rel=0.05)
    first = draws.initial()
    assert float(first.mean()) == pytest.approx(1.5, abs=0.02)
    assert float(first.var()) == pytest.approx(0.75, rel=0.05)
    half_squares = (numbers.square().sum() / 2).expand(2)
    two = torch.tensor([0.5, 2.0], dtype=torch.float64)
    exact = torch.distributions.Normal(0, two.rsqrt()[:, None]).log_prob(numbers).sum(1)
    exact += torch.distributions.Gamma(3.0, 2.0).log_prob(two)
    logs = draws.log_prob(two, half_squares)
    assert float(logs[1] - logs[0]) == pytest.approx(float(exact[1] - exact[0]), rel=1e-6)


def test_a_fixed_precision_stays():
    draws = PrecisionDraws(GammaPrior(6.0, 6.0, fixed=2.5), 5, streams(4), 3, 2)
    assert draws.initial().tolist() == [2.5] * 3
    assert draws.given(1, torch.ones(3, dtype=torch.float64)).tolist() == [2.5] * 3


@pytest.mark.parametrize("target", [0.6, 0.8, 0.95])
def test_dual_averaging_finds_the_step_size_of_a_known_acceptance(target):
    scale = torch.tensor([0.01, 1.0], dtype=torch.float64)
    averaging = DualAveraging(torch.full((2,), 0.1, dtype=torch.float64), target)
    rng = stream(0)
    for _ in range(2000):
        noise = 0.05 * torch.randn(2, generator=rng, dtype=torch.float64)
        averaging.update(((-averaging.step_size / scale).exp() + noise).clamp(0, 1))
    expected = -scale * torch.tensor(target).double().log()
    torch.testing.assert_close(averaging.average, expected, rtol=0.15, atol=0)


@pytest.mark.parametrize("target", [0.8, 0.9])
def test_chains_on_a_gaussian_target_accept_as_often_as_asked(target):
    train = Split(random(4, 600, 6), random(4, 1, 7))  # almost no data: 601 independent weights
    problem = Problem(train, Gaussian(1e4), mlp([], 1))
    method = Hmc(draws=800, thinning=1, warmup=400, prior_precision=1.0, target_acceptance=target)
    found = method.fit(problem, stream(0)).diagnostics
    assert found["acceptance"] == pytest.approx(target, abs=0.06)
    assert found["divergences"] == 0


def test_the_running_variance_is_the_variance():
    values = random(50, 3 * 4, 5).view(50, 3, 4)
    running = RunningVariance(values[0])
    for value in values:
        running.update(value)
    torch.testing.assert_close(running.value(), values.var(0))


def test_masses_are_shared_by_the_weights_of_a_parameter_and_average_to_one():
    variances = torch.tensor([[1.0, 3.0, 8.0, 0.0], [1.0, 3.0, 16.0, 0.0]])
    found = pooled(variances, [torch.tensor([0, 1]), torch.tensor([2])], draws=10**9)
    expected = torch.tensor([2.0, 2.0, 12.0, 0.0]) / (32 / 6)
    torch.testing.assert_close(found, expected)
    still = pooled(torch.zeros(2, 4), [torch.tensor([0, 1]), torch.tensor([2])], draws=9)
    assert still.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("warmup", [20, 24, 75, 100, 500, 1000])
def test_windows_widen_and_end_before_the_last_tenth(warmup):
    ends = window_ends(warmup)
    assert ends[-1] == round(0.9 * warmup)
    widths = [after - before for before, after in pairwise([round(0.15 * warmup), *ends])]
    assert all(after >= 2 * before for before, after in pairwise(widths))
    assert window_ends(19) == []


def test_trajectory_lengths_spread_evenly():
    assert [van_der_corput(n) for n in (1, 2, 3, 4, 5)] == [0.5, 0.25, 0.75, 0.125, 0.625]
    values = sorted(van_der_corput(n) for n in range(1, 1024))
    assert values == [n / 1024 for n in range(1, 1024)]


@pytest.mark.long
@pytest.mark.parametrize(("weights", "rows", "noise"), [(1, 20, 0.5), (1, 15, 1.0), (2, 10, 1.0)])
def test_chains_of_one_or_two_weights_accept_about_as_often_as_asked(weights, rows, noise):
    inputs, slopes = random(rows, weights, rows), random(weights, 1, rows + 1)
    targets = inputs @ slopes + noise * random(rows, 1, rows + 2)
    problem = Problem(Split(inputs, targets), Gaussian(noise), (Linear(1, bias=False),))
    diagnostics = Hmc().fit(problem, stream(1)).diagnostics
    assert 0.7 < diagnostics["acceptance"] < 0.92
