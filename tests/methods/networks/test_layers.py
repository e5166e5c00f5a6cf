"""Noise, norms, residual blocks and padding of a network, by numpy and by hand."""

from functools import partial

import numpy as np
import pytest
import torch

from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    LogisticBernoulli,
    Residual,
)
from bnnbench.methods.networks.catalogue import (
    preresnet164,
    resnet18,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.networks.networks import random, streams, weights_of


class TestNoise:
    ones = torch.ones(2, 400, 50)
    network = TorchNetwork((Dropout(0.3),), (50,))
    weights = torch.empty(2, 0)

    def test_dropout_is_off_unless_training_or_asked_for(self):
        assert torch.equal(self.network(self.weights, self.ones), self.ones)

    def test_dropout_keeps_the_mean_and_zeroes_at_its_rate(self):
        out = self.network(self.weights, self.ones, training=True, rngs=streams(2))
        assert out.unique().tolist() == [0.0, pytest.approx(1 / 0.7)]
        # 20,000 values per member: five standard deviations are 0.0162.
        assert ((out == 0).double().mean((1, 2)) - 0.3).abs().max() < 0.0162

    def test_training_masks_differ_between_points_and_shared_ones_do_not(self):
        call = partial(self.network, self.weights, self.ones)
        assert not torch.equal(*call(training=True, rngs=streams(2))[0, :2])
        shared = call(noise="shared", rngs=streams(2))
        assert torch.equal(shared, shared[:, :1].expand_as(shared))
        assert not torch.equal(shared[0], shared[1])

    def test_a_shared_mask_does_not_depend_on_the_points(self):
        whole = self.network(self.weights, self.ones, noise="shared", rngs=streams(2))
        half = self.network(self.weights, self.ones[:, :7], noise="shared", rngs=streams(2))
        assert torch.equal(whole[:, :7], half)

    def test_generators_make_members_of_one_weight_vector(self):
        out = self.network(self.weights[:1], self.ones[:1], noise="shared", rngs=streams(5))
        assert out.shape == (5, 400, 50)
        assert len(out[:, 0].unique(dim=0)) == 5

    def test_noise_without_generators_is_refused(self):
        with pytest.raises(ValueError, match="rngs, one for each of 2 members; got none"):
            self.network(self.weights, self.ones, training=True)

    def test_logistic_bernoulli_is_one_as_often_as_the_sigmoid_says(self):
        network = TorchNetwork((LogisticBernoulli(),), (3,))
        inputs = torch.tensor([-2.0, 0.0, 1.5]).expand(1, 40_000, 3).clone().requires_grad_()
        out = network(torch.empty(1, 0), inputs, noise="per_example", rngs=streams(1))
        assert not out.requires_grad
        assert set(out.unique().tolist()) == {0.0, 1.0}
        expected = torch.tensor([0.119203, 0.5, 0.817574])
        assert (out[0].mean(0) - expected).abs().max() < 0.0125  # five standard deviations
        off = network(torch.empty(1, 0), inputs)
        assert torch.equal(off, torch.sigmoid(inputs))
        assert off.requires_grad

    def test_the_global_generator_is_left_alone(self):
        before = torch.random.get_rng_state()
        self.network.initial_weights(streams(2))
        self.network(self.weights, self.ones, training=True, rngs=streams(2))
        assert torch.equal(before, torch.random.get_rng_state())


class TestNorms:
    images = random(1, 6, 4, 5, 5)

    def test_feature_response_forgets_the_scale_of_its_input(self):
        network = TorchNetwork((FeatureResponseNorm(),), (4, 5, 5))
        weights = weights_of(network)
        expected = network(weights, self.images)
        torch.testing.assert_close(network(weights, 7 * self.images), expected, rtol=0, atol=1e-5)

    def test_feature_response_of_a_point_does_not_depend_on_the_others(self):
        network = TorchNetwork((FeatureResponseNorm(),), (4, 5, 5))
        weights = weights_of(network)
        alone = network(weights, self.images[:, :1])
        torch.testing.assert_close(alone, network(weights, self.images)[:, :1])

    def test_batch_norm_of_a_point_depends_on_the_others_in_training_only(self):
        network = TorchNetwork((BatchNorm(),), (4, 5, 5))
        weights = weights_of(network)
        buffers = network.initial_buffers(weights)
        evaluate = partial(network, weights, buffers=buffers)
        torch.testing.assert_close(
            evaluate(self.images[:, :2]), evaluate(self.images)[:, :2], rtol=1e-12, atol=0
        )
        train = partial(network, weights, training=True)
        assert not torch.allclose(train(self.images[:, :2]), train(self.images)[:, :2], atol=0.01)

    def test_momentum_one_leaves_the_statistics_of_the_batch(self):
        network = TorchNetwork((BatchNorm(momentum=0.1),), (4, 5, 5))
        weights = weights_of(network)
        buffers = network.initial_buffers(weights)
        network(weights, self.images, buffers=buffers, training=True, momentum=1.0)
        flat = self.images[0].transpose(0, 1).flatten(1)
        torch.testing.assert_close(buffers[0], torch.cat([flat.mean(1), flat.var(1)]))


class TestResidual:
    def test_two_empty_branches_double(self):
        network = TorchNetwork((Residual(()),), (3,))
        assert torch.equal(network(torch.empty(1, 0), torch.ones(1, 2, 3)), 2 * torch.ones(1, 2, 3))

    @pytest.mark.parametrize(
        ("block", "after"),
        [(resnet18()[3:5], torch.relu), (preresnet164()[2:3], lambda x: x)],
    )
    def test_a_block_whose_last_convolution_is_zero_passes_its_input_on(self, block, after):
        width = 64
        network = TorchNetwork(block, (width, 6, 6))
        weights = network.initial_weights(streams(1))
        last = [part for part in network.parameters if len(part.shape) == 4][-1]
        weights[:, last.offset :] = 0  # the convolution, and the scale of its norm
        inputs = random(1, 3, width, 6, 6, dtype=torch.float32)
        out = network(weights, inputs, buffers=network.initial_buffers(weights))
        assert torch.equal(out, after(inputs))


class TestPadding:
    @pytest.mark.parametrize(("padding", "offset"), [((0, 1), 1), (1, 0)])
    def test_the_pair_moves_the_sampled_pixel(self, padding, offset):
        network = TorchNetwork((Conv2d(1, 3, 2, padding, bias=False),), (1, 8, 8))
        kernel = torch.zeros(3, 3)
        kernel[1, 1] = 1
        image = torch.arange(64.0).view(1, 1, 1, 8, 8)
        out = network(kernel.view(1, 9), image)
        assert torch.equal(out[0, 0, 0], image[0, 0, 0, offset::2, offset::2])

    @pytest.mark.parametrize("padding", [2, (1, 3), (3, 0)])
    def test_symmetric_padding_agrees_with_numpy(self, padding):
        image = np.arange(30.0).reshape(1, 1, 1, 5, 6)
        network = TorchNetwork(
            (Conv2d(1, 1, padding=padding, padding_mode="symmetric", bias=False),), (1, 5, 6)
        )
        out = network(torch.ones(1, 1, dtype=torch.float64), torch.from_numpy(image))
        expected = np.pad(image[0, 0, 0], padding, mode="symmetric")
        np.testing.assert_array_equal(out[0, 0, 0].numpy(), expected)
