"""The coupled update of a group, by dense solves, conjugate posteriors and printed vectors."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.testing import assert_close

from bnnbench.methods.message_passing.coupled.coupling import Coupling, couple
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import compiled, reference
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.first import FirstLayer, FirstLayerOfExamples
from bnnbench.methods.message_passing.layers.later import LaterLayer
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential
from bnnbench.methods.networks.architectures import Conv2d, Linear
from tests.methods.message_passing import conjugate, twins
from tests.methods.message_passing.oracle import KnownNoise, Trainer, build
from tests.methods.message_passing.oracle_layers import Prior
from tests.methods.message_passing.twins import tensor


def random_group(rng, shape, *weights):
    """Return means and variances of 6 examples' inputs, and of weights."""
    inputs = rng.normal(size=(1, 6, *shape))
    variances = rng.uniform(0.1, 1.0, size=(1, 6, *shape))
    mean, variance = rng.normal(size=(1, *weights)), rng.uniform(0.1, 1.0, size=(1, *weights))
    return (tensor(part) for part in (inputs, variances, mean, variance))


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("image", [False, True])
@pytest.mark.parametrize("kernels", [reference, compiled], ids=["reference", "compiled"])
def test_many_iterations_reach_the_dense_solution(kernels, image, later):
    rng = np.random.default_rng(0)
    if image:
        map = Convolution(Conv2d(4, 3, stride=2, padding=1), (2, 5, 5))
        x, s_a, mean, s_w = random_group(rng, (2, 5, 5), 4, 2, 3, 3)
    else:
        map = Dense(Linear(4), 3)
        x, s_a, mean, s_w = random_group(rng, (3,), 4, 3)
    s_b = tensor(rng.uniform(0.1, 1.0, (1, 4)))
    own = map.forward(x.square(), s_w)
    below = map.forward(s_a, mean.square() + s_w) if later else None
    full = own + map.spread(s_b[:, None])
    full = full if below is None else full + below
    rho = tensor(rng.gamma(2.0, 0.5, size=full.shape))
    rho[:, 2] = 0.0
    g = rho / (1 + rho * full)
    alone, held = (tensor(rng.normal(size=full.shape)) for _ in range(2))
    found = map.values_room(alone, 1).copy_(alone)
    couple(Coupling(map, x, s_w, s_b, own, below), g, found, held, 400, kernels)

    def rows(values):
        return map.output_rows(values)[0].numpy()

    dense = conjugate.row_coupling(
        map.rows(x)[0].numpy(),
        map.weight_rows(s_w)[0].numpy(),
        s_b[0].numpy(),
        *((map.rows(s_a)[0].numpy(), map.weight_rows(mean)[0].numpy()) if later else ()),
    )
    truth = conjugate.coupled_forces(rows(alone), rows(held), rows(g), dense)
    assert_allclose(rows(found), truth, rtol=1e-9, atol=1e-10)
    assert_close(found[:, 2], alone[:, 2], rtol=0, atol=0)  # g = 0: a row of padding


def first_layer(kind=FirstLayer) -> FirstLayer:
    layer = kind(Dense(Linear(1), 2), "exact", reference)
    layer.start_from(printed_weights())
    return layer


def printed_weights():
    parts = ([[0.3, -0.2]], [[0.5, 0.25]], [0.1], [0.2])
    return twins.weights_of(Prior(*(np.array(part) for part in parts)))


X = tensor([[[1.0, 2.0], [1.0, -1.0], [2.0, 1.0]]])
BACK = Gaussian(tensor([[[8.0], [-1.0], [2.0]]]), tensor([[[4.0], [1.0], [2.0]]]))


def gains(kept):
    """Return g of each example from its message to the bias, g / (1 - g s)."""
    bias = printed_weights().bias
    rho = kept["bias rho", 0][0, :, 0]
    return rho / (1 + rho * bias.variance[0, 0])


@pytest.mark.parametrize("kind", [FirstLayer, FirstLayerOfExamples])
def test_a_first_layer_has_the_printed_forces_and_the_exact_posterior_means(kind):
    layer, visit = first_layer(kind), Visit(Coupled(3, 1.0, 10), 1, 3)
    layer.open(visit)
    forward, residue = layer.forward(X, visit)
    assert_close(forward.mean[0, :, 0], tensor([0.0, 0.6, 0.5]))
    assert_close(forward.variance[0, :, 0], tensor([1.7, 0.95, 2.45]))
    layer.backward(residue, BACK, visit)
    h = layer.slots.values["h", 0]
    assert_close(
        gains(layer.slots.values), tensor([0.51282051, 0.51282051, 0.33898305]), rtol=2e-8, atol=0
    )
    assert_close(h[0, :, 0], tensor([1.49367816, -0.75545977, -0.44798851]), rtol=2e-8, atol=0)
    weights = printed_weights()
    moved = weights.weight.mean[0, 0] + weights.weight.variance[0, 0] * (X[0].T @ h[0, :, 0])
    assert_close(moved, tensor([0.22112069, 0.62370690]), rtol=2e-8, atol=0)
    assert weights.bias is not None
    bias = weights.bias.mean[0] + weights.bias.variance[0] * h[0].sum(0)
    assert_close(bias, tensor([0.15804598]), rtol=5e-8, atol=0)


def later_layer(schedule, held=None):
    """Return a layer and the end of its forward pass, with forces held from the last iteration."""
    layer = LaterLayer(Dense(Linear(1), 2), "exact", reference)
    layer.start_from(printed_weights())
    visit = Visit(schedule, 1, 3)
    layer.open(visit)
    if held is not None:
        visit.iteration = 1
        for name, like in (("input", X), ("bias", X[..., :1])):
            layer.slots.put_message(name, visit, Gaussian.uniform(*like.shape, pattern=X))
        for name in ("g", "h"):
            layer.slots.put(name, visit, tensor(held)[None, :, None])
    variance = tensor([[[0.5, 0.1], [0.2, 0.3], [0.4, 1e-300]]])
    forward, residue = layer.forward(Gaussian.of(X, variance), visit)
    assert_close(forward.variance[0, :, 0], tensor([2.024, 1.155, 2.686]), rtol=1e-8, atol=0)
    layer.backward(residue, BACK, visit)
    return layer.slots.values


def test_a_later_layer_has_the_printed_forces():
    values = later_layer(Coupled(3, 1.0, 10))
    assert_close(gains(values), tensor([0.43975374, 0.46403712, 0.31387320]), rtol=2e-8, atol=0)
    assert_close(
        values["h", 0][0, :, 0], tensor([1.28526751, -0.68753441, -0.38989324]), rtol=2e-8, atol=0
    )


def test_a_later_layer_takes_its_own_force_out_before_it_couples():
    alone = later_layer(GroupSequential(3, 1.0, without_own_force=True), (0.5, -0.2, 0.1))
    assert_close(
        alone["h", 0][0, :, 0], tensor([1.28056288, -0.83109049, 0.23496547]), rtol=2e-8, atol=0
    )
    coupled = later_layer(Coupled(3, 1.0, 10), (0.5, -0.2, 0.1))
    assert_close(
        coupled["h", 0][0, :, 0], tensor([1.66496166, -0.76791898, -0.27970231]), rtol=2e-8, atol=0
    )


def regression(rows: int, features: int, noise: float):
    """Return a prior, the problem's parts, and mean and deviation of the exact posterior."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(rows, features))
    targets = inputs @ rng.normal(size=(features, 1)) + noise**0.5 * rng.normal(size=(rows, 1))
    prior = Prior(
        rng.normal(0, 0.5, (1, features)),
        rng.uniform(0.2, 1.0, (1, features)),
        np.array([0.1]),
        np.array([0.4]),
    )
    mean, covariance = conjugate.linear_posterior(
        np.column_stack([inputs, np.ones(rows)]),
        targets[:, 0],
        noise,
        np.append(prior.mean[0], prior.bias_mean),
        np.append(prior.variance[0], prior.bias_variance),
    )
    return prior, (KnownNoise(noise), inputs, targets), mean, np.sqrt(np.diag(covariance))


def grouped(prior, problem, rows, schedule, iterations, accuracy):
    head, inputs, targets = problem
    network = (Linear(1),)
    trainer = twins.trainer_of(
        network, inputs.shape[1:], [prior], head, inputs, targets, rows, schedule, accuracy
    )
    trainer.visit(0, torch.arange(rows)[None], iterations, 1.0)
    return trainer


def test_the_first_coupled_step_points_to_the_exact_posterior_mean():
    prior, problem, mean, _ = regression(40, 16, 0.3)
    _, inputs, targets = problem
    layer, visit = (
        FirstLayer(Dense(Linear(1), 16), "exact", reference),
        Visit(Coupled(40, 1.0, 60), 1, 40),
    )
    layer.start_from(twins.weights_of(prior))
    layer.open(visit)
    _, residue = layer.forward(tensor(inputs)[None], visit)
    noise = torch.full((1, 40, 1), 0.3, dtype=torch.float64)
    layer.backward(residue, Gaussian.of(tensor(targets)[None], noise), visit)
    h = layer.slots.values["h", 0][0, :, 0].numpy()
    found = prior.mean[0] + prior.variance[0] * (problem[1].T @ h)
    assert_allclose(found, mean[:-1], rtol=1e-9, atol=1e-11)
    assert_allclose(prior.bias_mean + prior.bias_variance * h.sum(), mean[-1:], rtol=1e-9)


@pytest.mark.parametrize("cavity", ["row", "example"])
def test_coupled_groups_converge_to_the_fixed_point_of_single_examples(cavity):
    prior, problem, mean, deviation = regression(40, 5, 2.0)
    slow = Trainer(build((Linear(1),), (5,), [prior]), *problem, [range(40)])
    slow.visit(0, range(40), 60, 1.0)
    accuracy = MessageAccuracy("exact", cavity)
    trainer = grouped(prior, problem, 40, Coupled(40, 1.0, 8), 80, accuracy)
    (marginal,) = trainer.stored.marginal
    assert marginal.bias is not None
    found = np.append(marginal.weight.mean[0, 0], marginal.bias.mean[0])
    assert (np.abs(found - mean) / deviation).max() < 1e-9
    assert twins.apart(trainer.stored.marginal, slow.marginals) < 1e-9


def test_copies_of_an_example_share_one_correction():
    """Joint forces move the mean by the residual, separate ones by copies times the residual."""
    copies = 16
    x = X[:, :1].expand(-1, copies, -1)
    sharp = torch.full((1, copies, 1), 1e6, dtype=torch.float64)
    weights = printed_weights()
    assert weights.bias is not None
    moves = []
    for schedule in (Coupled(copies, 1.0, 10), GroupSequential(copies)):
        layer, visit = first_layer(), Visit(schedule, 1, copies)
        layer.open(visit)
        forward, residue = layer.forward(x, visit)
        mean = forward.mean[0, 0, 0]
        layer.backward(residue, Gaussian(2.0 * sharp, sharp), visit)
        h = layer.slots.values["h", 0][0, :, 0]
        shift = weights.weight.variance[0, 0] * (x[0].T @ h)
        moves.append(x[0, 0] @ shift + weights.bias.variance[0, 0] * h.sum())
    assert_close(moves[0], 2.0 - mean, rtol=1e-4, atol=0)
    assert_close(moves[1], copies * (2.0 - mean), rtol=1e-4, atol=0)
