"""Joint precisions, compared with Bayesian linear regression and dense inverses."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from bnnbench.methods.message_passing.coupled.joint import (
    joint_precisions,
    shared_out,
    with_precision,
)
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.networks.architectures import Conv2d, Linear
from tests.methods.message_passing.conjugate import linear_posterior
from tests.methods.message_passing.oracle import KnownNoise
from tests.methods.message_passing.oracle_layers import Prior
from tests.methods.message_passing.test_learning import CONVOLUTIONAL, scores
from tests.methods.message_passing.twins import tensor, trainer_of


def deviations(inputs, noise, variance):
    """Return the exact posterior's deviations of each output's weights."""
    zeros = np.zeros(inputs.shape[1])
    covariances = (
        linear_posterior(inputs, np.zeros(len(inputs)), own, zeros, s)[1]
        for own, s in zip(noise, variance, strict=True)
    )
    return np.sqrt([np.diag(covariance) for covariance in covariances])


@pytest.mark.parametrize("rows", [7, 40])
def test_a_group_with_gaussian_targets_has_the_exact_marginals(rows):
    """Means and precisions of similar rows; the precisions do not add up."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(rows, 5)) + 3.0 * rng.normal(size=(rows, 1))
    targets = inputs @ rng.normal(size=(5, 1)) + rng.normal(size=(rows, 1))
    prior = Prior(
        rng.normal(size=(1, 5)), rng.uniform(0.2, 1.0, (1, 5)), np.array([0.1]), np.array([0.4])
    )
    mean, covariance = linear_posterior(
        np.column_stack([inputs, np.ones(rows)]),
        targets[:, 0],
        2.0,
        np.append(prior.mean[0], prior.bias_mean),
        np.append(prior.variance[0], prior.bias_variance),
    )
    schedule = Coupled(rows, 1.0, 20, joint_precisions=True)
    trainer = trainer_of(
        (Linear(1),),
        (5,),
        [prior],
        KnownNoise(2.0),
        inputs,
        targets,
        rows,
        schedule,
        MessageAccuracy("exact", "row"),
    )
    trainer.visit(0, torch.arange(rows)[None], 150, 1.0)
    (marginal,) = trainer.stored.marginal
    assert marginal.bias is not None
    found = np.append(marginal.weight.rho[0, 0], marginal.bias.rho[0])
    assert_allclose(found, 1 / np.diag(covariance), rtol=1e-9)
    found = np.append(marginal.weight.mean[0, 0], marginal.bias.mean[0])
    assert_allclose(found, mean, atol=1e-9)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_more_positions_than_inputs_are_exact_up_to_shared_weights(same, bias):
    rng = np.random.default_rng(1)
    map = Convolution(Conv2d(3, 2, stride=2, bias=bias), (2, 9, 9))
    x = tensor(rng.normal(size=(1, 4, 2, 9, 9)))
    observed = rng.gamma(2.0, 1.0, (1, 4, 1, 4, 4)) * np.array([0.5, 1.0, 3.0])[:, None, None]
    if not same:
        observed = observed * rng.uniform(0.8, 1.25, observed.shape)
    variance = tensor(rng.uniform(0.1, 1.0, (1, 3, 2, 2, 2)))
    bias_variance = tensor(rng.uniform(0.1, 1.0, (1, 3))) if bias else None
    joint = joint_precisions(map, x, tensor(observed), variance, bias_variance)
    inputs, s = map.rows(x)[0].numpy(), map.weight_rows(variance)[0].numpy()
    found = map.weight_rows(joint.weight + 1 / variance)[0].numpy()
    if bias_variance is not None and joint.bias is not None:
        inputs = np.column_stack([inputs, np.ones(len(inputs))])
        s = np.column_stack([s, bias_variance[0].numpy()])
        found = np.column_stack([found, (joint.bias + 1 / bias_variance)[0].numpy()])
    truth = deviations(inputs, 1 / map.output_rows(tensor(observed))[0].mT.numpy(), s) ** -2
    assert_allclose(found, truth, rtol=1e-9 if same else 0.1)


def test_outputs_of_a_dense_layer_have_their_own_precisions():
    rng = np.random.default_rng(2)
    inputs, observed = rng.normal(size=(2, 12, 4)), rng.gamma(1.0, 1.0, (2, 12, 3))
    observed[:, 5] = 0.0  # a row about which nothing is known
    variance = rng.uniform(0.1, 1.0, (2, 3, 4))
    found = joint_precisions(
        Dense(Linear(3, bias=False), 4), tensor(inputs), tensor(observed), tensor(variance), None
    ).weight
    for member in range(2):
        with np.errstate(divide="ignore"):
            noise = 1 / observed[member].T
        truth = deviations(inputs[member], noise, variance[member]) ** -2
        assert_allclose(found[member].numpy() + 1 / variance[member], truth, rtol=1e-9)


def test_copies_of_a_row_say_as_much_as_one_row_of_their_precision():
    map = Dense(Linear(1, bias=False), 2)
    x, s = tensor([[[1.0, 2.0]]]), tensor([[[0.5, 0.25]]])
    sharp = tensor([[[3.0]]])
    many = joint_precisions(map, x.expand(1, 50, 2), sharp.expand(1, 50, 1), s, None).weight
    one = joint_precisions(map, x, 50 * sharp, s, None).weight
    assert_allclose(many, one, rtol=1e-10)
    assert_allclose(one[0, 0, 0], 1 / (1 / 150 + 4 * 0.25), rtol=1e-12)  # the other's variance


def test_another_precision_keeps_the_force_and_the_total_is_shared_out():
    message, mean = Gaussian(tensor([[1.0], [2.0]]), tensor([[0.5], [1.5]])), tensor([0.3])
    shared = shared_out(tensor([[0.4]]), message.rho[None])
    assert_allclose(shared, [[[0.1], [0.3]]])
    found = with_precision(message, mean, shared[0])
    assert_allclose(found.tau - found.rho * mean, message.tau - message.rho * mean)


def test_joint_precisions_need_cavities_of_rows():
    with pytest.raises(ValueError, match="cavity='row'"):
        MessagePassing(
            schedule=Coupled(joint_precisions=True), accuracy=MessageAccuracy(cavity="example")
        )


@pytest.mark.long
def test_joint_precisions_read_digits():
    schedule = Coupled(32, joint_precisions=True)
    accuracy, loss = scores(CONVOLUTIONAL, schedule=schedule, iterations=(1, 1))
    assert accuracy > 0.95
    assert loss < 0.12
