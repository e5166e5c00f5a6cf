"""Steps of microcanonical Langevin dynamics, compared with their differential equations."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.mile.chains import Chains
from bnnbench.methods.mile.dynamics import kick, normalised, refresh
from tests.methods.problems import stream


def random(*shape, seed=0):
    return torch.randn(*shape, generator=stream(seed), dtype=torch.float64)


def flow(momentum, gradient, time):
    """Return u and ΔK from du/dt = (g - u (u·g)) / (P - 1) and dK/dt = u·g."""

    def slope(_, state):
        u = state[:-1]
        along = u @ gradient
        return np.append((gradient - u * along) / (len(u) - 1), along)

    solved = solve_ivp(
        slope, (0, time), np.append(momentum, 0.0), rtol=1e-11, atol=1e-12, method="DOP853"
    )
    return solved.y[:-1, -1], solved.y[-1, -1]


@pytest.mark.parametrize("size", [0.1, 2.0, -0.7])
def test_a_kick_solves_its_differential_equation(size):
    momenta, gradients = normalised(random(4, 6)), 3 * random(4, 6, seed=1)
    turned, change = kick(momenta, gradients, torch.full((4,), size, dtype=torch.float64))
    for member in range(4):
        expected, energy = flow(momenta[member].numpy(), gradients[member].numpy(), size)
        np.testing.assert_allclose(turned[member], expected, atol=1e-8)
        assert float(change[member]) == pytest.approx(energy, abs=1e-7)


def test_a_kick_in_three_dimensions_has_the_printed_numbers():
    turned, change = kick(
        torch.tensor([[1.0, 0.0, 0.0]]).double(),
        torch.tensor([[3.0, 4.0, 0.0]]).double(),
        torch.tensor([0.5]).double(),
    )
    expected = torch.tensor([[0.80046455, 0.59938009, 0.0]]).double()
    torch.testing.assert_close(turned, expected, atol=1e-7, rtol=0)
    assert float(change) == pytest.approx(2.0943399, abs=1e-7)


def test_a_kick_back_returns():
    momenta, gradients = normalised(random(5, 8)), random(5, 8, seed=1)
    size = torch.full((5,), 0.9, dtype=torch.float64)
    turned, there = kick(momenta, gradients, size)
    back, again = kick(turned, gradients, -size)
    torch.testing.assert_close(back, momenta, atol=1e-15, rtol=0)
    torch.testing.assert_close(there, -again)


def test_without_a_gradient_momenta_stay():
    momenta = normalised(random(2, 5))
    turned, change = kick(momenta, torch.zeros_like(momenta), torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(turned, momenta)
    assert change.abs().max() < 1e-14


def test_a_refreshment_leaves_the_share_of_momentum_that_its_length_says():
    momenta, noise = normalised(random(3, 20_000)), random(3, 20_000, seed=1)
    size, length = torch.tensor([0.1, 1.0, 4.0]).double(), torch.full((3,), 2.0).double()
    new = refresh(momenta, noise, size, length)
    torch.testing.assert_close(new.norm(dim=1), torch.ones(3).double())
    left = (new * momenta).sum(1)
    torch.testing.assert_close(left, (-size / length).exp(), atol=0.03, rtol=0)


class Normal:
    """Minus the log density of independent normals, as a likelihood."""

    def __init__(self, variances, members):
        self._variances = variances
        self.states = torch.zeros(members, len(variances), dtype=torch.float64)
        self.gradients = torch.zeros_like(self.states)

    def differentiate(self):
        self.gradients = self.states / self._variances

    def value(self):
        return (self.states.square() / self._variances).sum(1) / 2

    def outputs(self, points):
        raise NotImplementedError


VARIANCES = torch.logspace(-1, 1, 10, dtype=torch.float64)


def normal_chains(members):
    states = random(members, 10) * VARIANCES.sqrt()
    flat = torch.full((members, 10), torch.inf, dtype=torch.float64)
    return Chains(Normal(VARIANCES, members), 1, flat, states, Streams([stream(7)]))


def mean_square_error(chains, size, steps):
    """Return E ΔE² / P."""
    sizes = torch.full((len(chains.loss.states),), size, dtype=torch.float64)
    lengths = torch.full_like(sizes, 4.982)
    errors = [chains.step(sizes, lengths)[0] for _ in range(steps)]
    return float(torch.stack(errors).square().mean()) / 10


def test_the_squared_energy_error_grows_as_the_sixth_power_of_the_step():
    small, large = (mean_square_error(normal_chains(64), size, 1) for size in (0.02, 0.04))
    assert large / small == pytest.approx(2**6, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize(("size", "expected"), [(0.2, 2.4e-10), (0.4, 1.9e-8), (0.8, 2.3e-6)])
def test_energy_errors_are_those_of_another_implementation(size, expected):
    assert mean_square_error(normal_chains(64), size, 1500) == pytest.approx(expected, rel=0.4)


@pytest.mark.long
def test_chains_sample_a_normal_distribution():
    chains = normal_chains(64)
    sizes, lengths = (torch.full((64,), x, dtype=torch.float64) for x in (0.8, 4.982))
    draws = []
    for _ in range(2500):
        chains.step(sizes, lengths)
        draws.append(chains.loss.states.clone())
    flat = torch.cat(draws)
    assert (flat.mean(0) / VARIANCES.sqrt()).abs().max() < 0.06
    assert float((flat.var(0) / VARIANCES).mean()) == pytest.approx(1, abs=0.02)


def test_a_step_that_is_not_finite_is_undone_and_the_others_go_on():
    chains = normal_chains(3)
    before, momenta = chains.loss.states.clone(), chains.momenta.clone()
    size = torch.tensor([0.1, torch.inf, 0.1]).double()
    errors, failed = chains.step(size, torch.full((3,), 5.0).double())
    assert failed.tolist() == [False, True, False]
    assert errors[~failed].isfinite().all()
    assert torch.equal(chains.loss.states[1], before[1])
    assert torch.equal(chains.momenta[1], momenta[1])
    assert (chains.loss.states[0] != before[0]).any()
    assert chains.log_density.isfinite().all()
    assert chains.gradients.isfinite().all()
