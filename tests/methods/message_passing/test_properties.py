"""Invariance to order, splits and schedules, in networks of several layers."""

from dataclasses import replace
from functools import reduce
from math import inf, nan
from operator import mul
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from bnnbench.methods.message_passing.kernels import compiled, reference
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.first import FirstLayer, FirstLayerOfExamples
from bnnbench.methods.message_passing.layers.later import LaterLayer
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Sequential
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.architectures import Conv2d, Flatten, LeakyReLU, Linear
from tests.methods.message_passing import twins
from tests.methods.message_passing.oracle import Argmax, spectral_prior
from tests.methods.message_passing.oracle_layers import Prior
from tests.methods.message_passing.twins import tensor, trainer_of, weights_of

NETWORK = (Linear(6), LeakyReLU(0.1), Linear(3))
SCHEDULES = {
    "sequential": Sequential(),
    "groups": GroupSequential(3),
    "coupled": Coupled(4),
}
ROWS = 12


def problem(seed: int = 1):
    """Return priors, inputs and labels of 12 rows with 5 features and 3 classes."""
    rng = np.random.default_rng(seed)
    priors, inputs = spectral_prior(NETWORK, (5,), rng), rng.normal(size=(ROWS, 5))
    return priors, inputs, (inputs @ rng.normal(size=(5, 3))).argmax(1)


def trained(priors, inputs, labels, schedule, order=None, epochs: int = 2) -> Trainer:
    """Return a trainer after visits of one batch, two iterations each."""
    trainer = trainer_of(NETWORK, (5,), priors, Argmax(), inputs, labels, ROWS, schedule)
    order = np.arange(ROWS) if order is None else order
    for number in range(1, epochs + 1):
        twins.epoch(trainer, number, [(0, order)], 2)
    assert not trainer.tally.guard_events.any()  # no visit was repeated with more damping
    return trainer


def assert_same(found, expected) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        for part, other in zip(ours.parts(), theirs.parts(), strict=True):
            assert_close(part.rho, other.rho, rtol=1e-9, atol=1e-11)
            assert_close(part.tau, other.tau, rtol=1e-9, atol=1e-9)


def outputs_permuted(prior: Prior, order) -> Prior:
    return Prior(*(part[order] for part in prior))


def inputs_permuted(prior: Prior, order) -> Prior:
    return prior._replace(mean=prior.mean[:, order], variance=prior.variance[:, order])


def both_permuted(weights, outputs, inputs):
    """Return a layer's weights with outputs and inputs in other orders."""

    def taken(part: Gaussian) -> Gaussian:
        values = Gaussian(part.tau[:, outputs], part.rho[:, outputs])
        return values if part.rho.dim() == 2 else values[:, :, inputs]

    bias = None if weights.bias is None else taken(weights.bias)
    return replace(weights, weight=taken(weights.weight), bias=bias)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_features_units_and_classes_have_no_order(schedule):
    (first, last), inputs, labels = problem()
    rng = np.random.default_rng(1)
    features, units, classes = rng.permutation(5), rng.permutation(6), rng.permutation(3)
    renamed = np.argsort(classes)[labels]
    priors = (
        inputs_permuted(outputs_permuted(first, units), features),
        inputs_permuted(outputs_permuted(last, classes), units),
    )
    found = trained(priors, inputs[:, features], renamed, schedule).stored.marginal
    expected = trained((first, last), inputs, labels, schedule).stored.marginal
    permuted = (
        both_permuted(expected[0], units, features),
        both_permuted(expected[1], classes, units),
    )
    assert_same(found, permuted)


@pytest.mark.parametrize("schedule", [GroupSequential(ROWS), Coupled(ROWS)])
def test_a_group_does_not_depend_on_the_order_of_its_examples(schedule):
    order = np.random.default_rng(2).permutation(ROWS)
    found = trained(*problem(), schedule, order).stored.marginal
    assert_same(found, trained(*problem(), schedule).stored.marginal)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_rows_in_another_place_are_the_same_rows(schedule):
    priors, inputs, labels = problem()
    order = np.random.default_rng(3).permutation(ROWS)
    found = trained(priors, inputs[order], labels[order], schedule, np.argsort(order))
    assert_same(found.stored.marginal, trained(priors, inputs, labels, schedule).stored.marginal)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("order", ["zeroth", "first", "exact"])
def test_nothing_is_learned_about_a_feature_that_is_always_zero(schedule, order):
    priors, inputs, labels = problem()
    inputs[:, 2] = 0
    accuracy = MessageAccuracy(order, "row")
    trainer = trainer_of(NETWORK, (5,), priors, Argmax(), inputs, labels, ROWS, schedule, accuracy)
    twins.epoch(trainer, 1, [(0, np.arange(ROWS))], 2)
    weight, prior = trainer.stored.marginal[0].weight, trainer.stored.prior[0].weight
    assert_close(weight[..., 2].tau, prior[..., 2].tau, rtol=0, atol=0)
    assert_close(weight[..., 2].rho, prior[..., 2].rho, rtol=0, atol=0)
    assert (weight[..., 1].rho > prior[..., 1].rho).all()


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("kind", [FirstLayer, FirstLayerOfExamples, LaterLayer])
def test_uniform_messages_from_above_say_nothing(schedule, kind):
    rng = np.random.default_rng(4)
    layer = kind(Dense(Linear(6), 5), "exact", reference)
    before = weights_of(problem()[0][0])
    layer.start_from(before)
    visit = Visit(schedule, 1, schedule.size)
    layer.open(visit)
    x = tensor(rng.normal(size=(1, schedule.size, 5)))
    arriving = Gaussian.of(x, torch.full_like(x, 0.3)) if kind is LaterLayer else x
    forward, residue = layer.forward(arriving, visit)
    below = layer.backward(residue, Gaussian.uniform(*forward.shape, pattern=x), visit)
    assert_same([layer.marginal], [before])
    if below is not None:
        assert_close(below.tau, torch.zeros_like(x), rtol=0, atol=0)
        assert_close(below.rho, torch.full_like(x, LEAST_PRECISION), rtol=0, atol=0)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("cavity", ["row", "example"])
def test_marginals_are_prior_times_all_messages_after_any_number_of_swaps(schedule, cavity):
    rng = np.random.default_rng(5)
    priors, inputs, labels = problem()
    accuracy = MessageAccuracy("exact", cavity)
    trainer = trainer_of(NETWORK, (5,), priors, Argmax(), inputs, labels, 5, schedule, accuracy)
    for _ in range(15):
        batch = int(rng.integers(3))
        order = rng.permutation(trainer.batches[batch].shape[1])
        trainer.visit(batch, torch.tensor(order)[None], int(rng.integers(1, 4)), rng.uniform())
    swapped = trainer.stored.marginal[:]
    trainer.stored.recompute()
    assert_same(swapped, trainer.stored.marginal)
    expected = list(trainer.stored.prior)
    for said in trainer.stored.aggregates:
        assert said is not None
        expected = [own * part for own, part in zip(expected, said, strict=True)]
    assert_same(swapped, expected)
    assert trainer.tally.clamped.item() == 0


@pytest.mark.parametrize(
    ("tau", "rho"), [(nan, 1), (inf, 1), (-inf, 1), (1, 0), (1, -1), (1, inf), (1, nan)]
)
def test_one_improper_number_makes_its_member_improper(tau, rho):
    weights = Gaussian(torch.ones(3, 4, 5), torch.ones(3, 4, 5))
    assert weights.is_proper().all()
    weights.tau[1, 2, 3], weights.rho[1, 2, 3] = tau, rho
    assert weights.is_proper().tolist() == [True, False, True]


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_marginals_moved_step_by_step_agree_with_all_messages(schedule, monkeypatch):
    gaps = []

    def refresh(layer):
        found = layer.aggregate()
        # Every group separately, except in a visit's last iteration, which keeps none.
        told = found.weight if None in layer.sums else reduce(mul, layer.sums)
        anew = layer.prior * Weights(told, reduce(mul, layer.bias_sums))
        for part, other in zip(layer.marginal.parts(), anew.parts(), strict=True):
            gaps.append((part.rho / other.rho - 1).abs().max())
            gaps.append((part.tau - other.tau).abs().max() / other.rho.sqrt().max())
        layer.marginal = anew
        return found

    for kind in (FirstLayer, LaterLayer):
        monkeypatch.setattr(kind, "refresh", refresh)
    trained(*problem(), schedule)
    assert len(gaps) == 2 * 2 * 2 * 2 * 2
    assert max(gaps) < 1e-9


def images(rng, *shape):
    return tensor(rng.normal(size=(1, *shape)))


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_a_kernel_as_large_as_the_image_is_a_linear_layer(schedule):
    rng = np.random.default_rng(6)
    inputs, labels = rng.normal(size=(ROWS, 2, 3, 3)), rng.integers(0, 3, ROWS)
    tail = (LeakyReLU(0.1), Linear(3))
    convolution = (Conv2d(4, 3), Flatten(), *tail)
    first, last = spectral_prior(convolution, (2, 3, 3), rng)
    dense = Prior(first.mean.reshape(4, -1), first.variance.reshape(4, -1), *first[2:])
    found = []
    for architecture, prior in ((convolution, first), ((Flatten(), Linear(4), *tail), dense)):
        trainer = trainer_of(
            architecture, (2, 3, 3), [prior, last], Argmax(), inputs, labels, ROWS, schedule
        )
        twins.epoch(trainer, 1, [(0, np.arange(ROWS))], 2)
        found.append(trainer.stored.marginal)
    assert_close(found[0][0].weight.rho.flatten(2), found[1][0].weight.rho, rtol=1e-9, atol=0)
    assert_close(found[0][0].weight.tau.flatten(2), found[1][0].weight.tau, rtol=1e-9, atol=1e-9)
    assert_same(found[0][1:], found[1][1:])


@pytest.mark.parametrize("kind", [FirstLayer, LaterLayer])
def test_a_kernel_of_one_pixel_is_a_linear_layer_on_every_pixel(kind):
    """In the first iteration, where pixels of an image and examples have the same cavities."""
    rng = np.random.default_rng(7)
    side, examples = 3, 2
    rows = examples * side**2
    prior = weights_of(Prior(*(rng.uniform(0.2, 1.0, n) for n in ((4, 2), (4, 2), 4, 4))))
    as_kernel = replace(prior, weight=prior.weight[..., None, None])
    x, back = images(rng, examples, 2, side, side), images(rng, examples, 4, side, side)

    def pixels(values):
        return values.permute(0, 1, 3, 4, 2).reshape(1, rows, -1)

    found = []
    cases: tuple[tuple[Any, ...], ...] = (
        (Convolution(Conv2d(4, 1), (2, side, side)), as_kernel, examples, lambda v: v),
        (Dense(Linear(4), 2), prior, rows, pixels),
    )
    for map, own, count, view in cases:
        layer: Any = kind(map, "exact", reference)
        layer.start_from(own)
        visit = Visit(GroupSequential(count), 1, count)
        layer.open(visit)
        arriving = view(x)
        if kind is LaterLayer:
            arriving = Gaussian.of(arriving, torch.full_like(arriving, 0.3))
        _, residue = layer.forward(arriving, visit)
        above = Gaussian(2 * view(back), torch.full_like(view(back), 2.0))
        below = layer.backward(residue, above, visit)
        found.append((layer.marginal, below))
    kernel = found[0][0].weight.rho[..., 0, 0], found[0][0].weight.tau[..., 0, 0]
    assert_close(kernel[0], found[1][0].weight.rho)
    assert_close(kernel[1], found[1][0].weight.tau)
    assert_close(found[0][0].bias.rho, found[1][0].bias.rho)
    if kind is LaterLayer:
        assert_close(pixels(found[0][1].tau), found[1][1].tau)
        assert_close(pixels(found[0][1].rho), found[1][1].rho)


def test_all_members_are_themselves_and_some_are_copies():
    weights = Weights(Gaussian(torch.randn(3, 4, 5), torch.rand(3, 4, 5)), None)
    assert weights.of_members(torch.arange(3)) is weights
    some = weights.of_members(torch.tensor([0, 2]))
    assert torch.equal(some.weight.rho, weights.weight.rho[[0, 2]])


@torch.no_grad()
@pytest.mark.parametrize("schedule", [Sequential(), GroupSequential(4), Coupled(4)])
def test_what_a_single_round_says_is_right_to_rounding_of_the_marginals(schedule):
    rng, found = np.random.default_rng(0), []
    numbers = [rng.normal(size=(1, *shape)) for shape in ((2, 3), (2,), (64, 3), (64, 2))]
    for dtype in (torch.float32, torch.float64):
        mean, bias, x, tau = (tensor(part).float().to(dtype) for part in numbers)
        layer = FirstLayer(Dense(Linear(2), 3), "zeroth", compiled)
        prior = [Gaussian(1e3 * part, torch.full_like(part, 1e3)) for part in (mean, bias)]
        visit = Visit(schedule, 1, 64, iterations=1)
        layer.start_from(Weights(*prior))
        layer.open(visit)
        for group in range(visit.groups):
            visit.group = group
            _, residue = layer.forward(x[:, visit.rows], visit)
            above = Gaussian(tau, torch.ones_like(tau))[:, visit.rows]
            layer.backward(residue, above, visit)
        assert (layer.refresh().weight.rho > 0).all()
        found.append((layer.aggregate().weight, layer.marginal.weight))
    (rounded, _), (exact, whole) = found
    for name in ("tau", "rho"):
        error = (getattr(rounded, name) - getattr(exact, name)).abs()
        unit = torch.finfo(torch.float32).eps * getattr(whole, name).abs()
        assert (error <= visit.groups * unit + 1e-5 * getattr(exact, name).abs()).all()
