"""Gradients of log Z by finite differences; the compiled step equals the plain one."""

import math

import pytest
import torch

from bnnbench.methods.pbp import correlated, independent
from tests.methods.pbp.states import flat, random_state, take, weights

INPUT = torch.tensor([0.9, -1.3, 0.2], dtype=torch.float64)
TARGET = torch.tensor([0.7], dtype=torch.float64)
NETWORKS = {0: (3, 1), 1: (3, 5, 1), 2: (3, 5, 4, 1), 3: (3, 5, 9, 4, 1)}


def log_z(units, means, variances) -> float:
    mean, variance = units.forward(means, variances, INPUT[None])
    total = variance + 1.2
    return float(-0.5 * ((TARGET - mean).square() / total + total.log()))


def head(mean, variance):
    total, error = variance + 1.2, TARGET - mean
    return 0.0, error / total, 0.5 * (error.square() / total.square() - 1 / total)


@pytest.mark.parametrize("units", [independent, correlated])
@pytest.mark.parametrize("hidden", NETWORKS)
def test_they_agree_with_finite_differences(hidden, units):
    state = random_state(NETWORKS[hidden], seed=hidden)
    layers = weights(state.mean, state), weights(state.variance, state)
    _, found = units.gradients(*layers, INPUT, head)
    step = 1e-6
    for kind in (0, 1):
        for layer, by_layer in zip(layers[kind], found, strict=True):
            for place in range(layer.numel()):
                index = divmod(place, layer.shape[1])
                value = float(layer[index])
                layer[index] = value + step
                above = log_z(units, *layers)
                layer[index] = value - step
                below = log_z(units, *layers)
                layer[index] = value
                expected = (above - below) / (2 * step)
                assert float(by_layer[kind][index]) == pytest.approx(expected, rel=1e-6, abs=1e-9)


WIDTHS = [
    (3, 1), (3, 2), (1, 1, 1), (3, 7, 1), (3, 8, 1), (20, 5, 3),
    (3, 50, 1), (3, 9, 17, 1), (3, 17, 9, 2), (3, 8, 16, 7, 3), (2, 3, 3, 12),
]  # fmt: skip


@pytest.mark.parametrize("covariances", [False, True])
@pytest.mark.parametrize(
    ("widths", "classes"),
    [(widths, classes) for widths in WIDTHS for classes in {False, widths[-1] > 1}],
)
def test_a_compiled_step_is_a_plain_one_whatever_the_widths(widths, classes, covariances):
    rng = torch.Generator().manual_seed(1)
    inputs = torch.randn(widths[0], generator=rng, dtype=torch.float64)
    target = widths[-1] - 1 if classes else torch.randn(widths[-1], generator=rng).tolist()
    states = {name: random_state(widths) for name in ("compiled", "reference")}
    row = inputs.tolist(), target, covariances
    losses = {name: take(name, state, *row) for name, state in states.items()}
    one, other = states.values()
    assert math.isclose(*losses.values(), rel_tol=1e-12)
    for name in ("mean", "variance"):
        values = flat(getattr(one, name), one), flat(getattr(other, name), other)
        torch.testing.assert_close(*values, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(one.noise, other.noise, rtol=1e-11, atol=0)
    assert one.counts.tolist() == other.counts.tolist()


@pytest.mark.parametrize("covariances", [False, True])
def test_the_padding_takes_no_part(covariances):
    state = random_state((3, 9, 5, 2))
    before = flat(state.mean, state), flat(state.variance, state)
    mean, variance = state.mean.clone(), state.variance.clone()
    take("compiled", state, [0.3, 0.1, -2.0], [0.5, 1.0], covariances)
    changed = (state.mean != mean) | (state.variance != variance)
    assert not torch.equal(before[0], flat(state.mean, state))
    assert int(changed.sum()) == int(flat(changed.double(), state).sum())
    assert state.counts.tolist() == [0, 0, 0]


def test_permuting_hidden_units_permutes_what_they_learn():
    widths, order = (3, 6, 1), torch.tensor([3, 0, 5, 1, 4, 2])
    state, permuted = random_state(widths), random_state(widths)
    for values in (permuted.mean, permuted.variance):
        first, last = weights(values, permuted)
        first.copy_(first[order].clone())
        last[:, :6] = last[:, order].clone()
    for one in (state, permuted):
        take("compiled", one, [0.3, 0.1, -2.0], [0.5])
    for values, others in ((state.mean, permuted.mean), (state.variance, permuted.variance)):
        torch.testing.assert_close(
            weights(values, state)[0][order], weights(others, permuted)[0], rtol=1e-12, atol=0
        )
