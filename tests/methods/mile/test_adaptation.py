"""Adaptation of step sizes and lengths, compared with laws whose answers are known."""

import numpy as np
import pytest
import torch

from bnnbench.methods.mile.adaptation import Adaptation, chosen_weights
from tests.methods.problems import stream, streams

NONE = torch.zeros(2, dtype=torch.bool)


def adaptation(states, target=0.01, steps=2000):
    targets = torch.full((len(states),), target, dtype=torch.float64)
    chosen = torch.arange(states.shape[1]).expand(len(states), -1)
    return Adaptation(states, (targets, targets), chosen, steps)


@pytest.mark.parametrize("target", [0.5, 5e-4])
def test_errors_of_the_sixth_power_lead_to_the_step_of_the_target(target):
    states = torch.zeros(2, 50)
    adapted = adaptation(states, target)
    factors = torch.tensor([0.2, 30.0]).double()
    for step in range(600):
        adapted.update(step, states, (50 * factors * adapted.size**6).sqrt(), NONE)
    torch.testing.assert_close(adapted.size, (target / factors) ** (1 / 6), rtol=0.01, atol=0)


def test_a_falling_target_is_followed():
    targets = torch.tensor([0.5]).double(), torch.tensor([0.1]).double()
    states = torch.zeros(1, 50)
    adapted = Adaptation(states, targets, torch.arange(50)[None], 4000)
    for step in range(3600):
        adapted.update(step, states, (50 * adapted.size**6).sqrt(), NONE[:1])
    assert float(adapted.size) == pytest.approx(0.1 ** (1 / 6), rel=0.02)


def test_a_step_that_failed_shortens_its_chain_for_good():
    states = torch.zeros(2, 50)
    adapted = adaptation(states)
    for step in range(300):
        adapted.update(step, states, (50 * adapted.size**6).sqrt(), NONE)
    reached = adapted.size.clone()
    adapted.update(
        300, states, torch.tensor([1.0, torch.nan]).double(), ~NONE & torch.tensor([False, True])
    )
    for step in range(301, 900):
        adapted.update(step, states, (50 * adapted.size**6).sqrt(), NONE)
    assert float(adapted.size[0]) == pytest.approx(float(reached[0]), rel=0.01)
    assert float(adapted.size[1]) == pytest.approx(0.8 * float(reached[1]))


def test_the_length_is_the_root_of_the_summed_variances():
    stds = torch.linspace(0.1, 2, 50)
    adapted = adaptation(torch.zeros(2, 50), steps=3000)
    rng = stream(0)
    for step in range(2699):
        states = 5 + stds * torch.randn(2, 50, generator=rng)
        adapted.update(step, states, (50 * adapted.size**6).sqrt(), NONE)
    assert (adapted.length == 15).all()
    adapted.update(2699, states, (50 * adapted.size**6).sqrt(), NONE)
    expected = float(stds.square().sum().sqrt())
    torch.testing.assert_close(
        adapted.length, torch.full((2,), expected).double(), rtol=0.02, atol=0
    )


def test_the_last_length_decorrelates_autoregressions():
    """An autoregression of coefficient ρ has the autocorrelation time (1 + ρ) / (1 - ρ)."""
    coefficients = torch.tensor([[0.5], [0.8]])
    steps, rng = 20_000, stream(0)
    states = torch.randn(2, 60, generator=rng)
    adapted = adaptation(states, steps=steps)
    size = adapted.size = torch.tensor([0.3, 0.7]).double()
    for step in range(18_000, steps):
        noise = (1 - coefficients.square()).sqrt() * torch.randn(2, 60, generator=rng)
        states = coefficients * states + noise
        adapted.update(step, states, torch.zeros(2).double(), NONE)
    times = ((1 + coefficients) / (1 - coefficients)).flatten().double()
    torch.testing.assert_close(adapted.length, 0.4 * size * times, rtol=0.1, atol=0)


def test_each_fit_traces_weights_of_its_own_and_no_more_than_there_are():
    chosen = chosen_weights(2000, streams(0, 1))
    assert chosen.shape == (2, 500)
    assert all(len(set(row.tolist())) == 500 for row in chosen)
    assert (chosen[0] != chosen[1]).any()
    assert np.array_equal(chosen_weights(7, streams(0))[0].sort().values, np.arange(7))
