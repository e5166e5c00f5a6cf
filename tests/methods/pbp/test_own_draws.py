"""The propagated deviation of the outputs, compared with draws of the weights."""

import dataclasses
import math
from typing import Any

import pytest
import torch

from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.pbp.own_draws import drawn_outputs, std_over_draws
from tests.methods.pbp.states import moments, random_state, weights
from tests.methods.problems import regression, stream


def outputs_of_drawn_weights(state, row, draws, rng):
    """Return the outputs of whole networks, weight by weight, at one input."""
    z = row.expand(draws, 1, -1)
    layers = list(zip(weights(state.mean, state), weights(state.variance, state), strict=True))
    for place, (m, v) in enumerate(layers):
        noise = torch.empty(draws, *m.shape, dtype=torch.float64).normal_(generator=rng)
        z = torch.cat([z, torch.ones(draws, 1, 1, dtype=z.dtype)], dim=-1)
        z = z @ (m + v.sqrt() * noise).transpose(1, 2) / math.sqrt(m.shape[1])
        z = z.clamp(min=0) if place < len(layers) - 1 else z
    return z[:, 0]


@pytest.mark.parametrize("widths", [(3, 2), (3, 8, 1), (3, 8, 6, 2), (2, 5, 5, 5, 1)])
def test_sums_are_drawn_as_if_every_weight_were(widths):
    state, draws = random_state(widths, seed=1), 40_000
    row = torch.linspace(-1.0, 1.5, widths[0], dtype=torch.float64)
    ours = drawn_outputs(state, row[None], draws, stream(0))[:, 0]
    whole = outputs_of_drawn_weights(state, row, draws, stream(1))
    error = (ours.var(0) + whole.var(0)).div(draws).sqrt()
    assert ((ours.mean(0) - whole.mean(0)).abs() < 4 * error).all()
    torch.testing.assert_close(ours.std(0), whole.std(0), rtol=0.04, atol=0)


@pytest.mark.parametrize("hidden", [(), (20,)])
def test_moments_are_exact_up_to_one_hidden_layer(hidden):
    """Units of the first layer are independent; units of the second share their inputs."""
    state = random_state((4, *hidden, 1), seed=2)
    inputs = torch.randn(16, 4, dtype=torch.float64, generator=stream(3))
    assert std_over_draws(state, inputs, stream(4)) == pytest.approx(1.0, abs=0.02)


def test_two_units_that_share_one_unit_have_the_ratio_of_the_algebra():
    r"""All weights are known except the first, N(1, s²), far from the kink: y = 2 relu(relu(w)).

    Its deviation is 2 s; as a sum of two independent units it would be √2 s.
    """
    state = random_state((1, 1, 2, 1))
    tiny, variance = 1e-12, 1e-2
    values = [
        (weights(state.mean, state), [[[3.0, 0.0]], [[1.0, 0.0]] * 2, [[1.0, 1.0, 0.0]]]),
        (weights(state.variance, state), [[[variance, tiny]], [[tiny] * 2] * 2, [[tiny] * 3]]),
    ]
    for views, layers in values:
        for view, layer in zip(views, layers, strict=True):
            view.copy_(torch.tensor(layer, dtype=torch.float64))
    inputs = torch.ones(16, 1, dtype=torch.float64)
    assert std_over_draws(state, inputs, stream(0)) == pytest.approx(0.5**0.5, rel=0.02)
    assert std_over_draws(state, inputs, stream(0), covariances=True) == pytest.approx(1, rel=0.02)


def test_a_fit_says_it_of_its_training_rows():
    problem = dataclasses.replace(regression(rows=60), architecture=mlp([20, 20], outputs=1))
    posterior: Any = Pbp(epochs=3).fit(problem, stream(0))
    inputs = problem.train.inputs[:16].flatten(1).double()
    drawn = torch.stack(
        [outputs_of_drawn_weights(posterior.state, row, 4000, stream(1)) for row in inputs], dim=1
    )
    variance = moments(posterior.state, inputs)[1]
    ratio = (variance / drawn.var(0)).log().mean().div(2).exp()
    assert ratio < 0.95
    assert posterior.diagnostics["std_over_draws"] == pytest.approx(float(ratio), rel=0.03)
    assert Pbp(epochs=1).fit(regression(), stream(0)).diagnostics["std_over_draws"] == 1
