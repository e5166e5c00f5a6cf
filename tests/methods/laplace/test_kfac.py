"""Kronecker factors: their definition by loops, and cases in which their product is exact."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.laplace.kfac import Kfac, kronecker_factors
from bnnbench.methods.laplace.layer_recorder import LayerRecorder
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, Tanh
from tests.methods.laplace.explicit import gauss_newton, matrix, mode_of, normal_inputs


def blocks_of(full: Tensor, recorder: LayerRecorder) -> Tensor:
    """Return the matrix without entries that couple two layers."""
    kept = torch.zeros_like(full)
    for block in recorder.blocks:
        own = slice(block.start, block.stop)
        kept[own, own] = full[own, own]
    return kept


@pytest.mark.parametrize("likelihood", [Categorical(3), Gaussian()])
def test_it_is_exact_for_one_point_of_a_perceptron(likelihood):
    mode = mode_of((Linear(5), Tanh(), Linear(4, bias=False), Tanh(), Linear(3)), (4,), likelihood)
    inputs = normal_inputs(1, 4)
    found = matrix(Kfac().spectrum(mode, inputs), mode)
    expected = blocks_of(gauss_newton(mode, inputs), LayerRecorder(mode.network))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def test_it_is_exact_for_a_convolution_with_one_position():
    mode = mode_of((Conv2d(4, 3), Tanh(), Flatten(), Linear(3)), (2, 3, 3), Categorical(3))
    inputs = normal_inputs(1, 2, 3, 3)
    found = matrix(Kfac().spectrum(mode, inputs), mode)
    expected = blocks_of(gauss_newton(mode, inputs), LayerRecorder(mode.network))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def test_it_is_exact_for_all_points_of_a_deep_linear_regression():
    mode = mode_of((Linear(5), Linear(4), Linear(2)), (3,), Gaussian())
    inputs = normal_inputs(30, 3)
    found = matrix(Kfac().spectrum(mode, inputs), mode)
    expected = blocks_of(gauss_newton(mode, inputs), LayerRecorder(mode.network))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def test_it_is_not_exact_elsewhere():
    mode = mode_of((Linear(5), Tanh(), Linear(2)), (3,), Gaussian())
    inputs = normal_inputs(30, 3)
    found = matrix(Kfac().spectrum(mode, inputs), mode)
    expected = blocks_of(gauss_newton(mode, inputs), LayerRecorder(mode.network))
    assert (found - expected).norm() > 0.01 * expected.norm()


def test_factors_of_a_convolution_are_sums_over_points_and_positions():
    mode = mode_of((Conv2d(2, 2), Tanh(), Flatten(), Linear(3)), (1, 3, 3), Categorical(3))
    inputs = normal_inputs(5, 1, 3, 3)
    of_inputs, of_gradients = kronecker_factors(LayerRecorder(mode.network), mode, inputs)
    kernel, bias, dense = mode.weights[0].split([8, 2, 27])
    seen, gradients = torch.zeros(5, 5).double(), torch.zeros(2, 2).double()
    for image in inputs:
        before = functional.conv2d(image[None], kernel.view(2, 1, 2, 2), bias)[0]

        def logits(z: Tensor) -> Tensor:
            return dense[:24].view(3, 8) @ z.tanh().flatten() + dense[24:]

        slopes = torch.autograd.functional.jacobian(logits, before)
        assert isinstance(slopes, Tensor)
        p = logits(before).softmax(0)
        hessian = p.diag() - torch.outer(p, p)
        for i in range(2):
            for j in range(2):
                patch = torch.cat([image[0, i : i + 2, j : j + 2].flatten(), torch.ones(1)])
                seen += torch.outer(patch, patch)
                gradients += slopes[:, :, i, j].T @ hessian @ slopes[:, :, i, j]
    torch.testing.assert_close(of_inputs[0], seen / (5 * 4), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(of_gradients[0], gradients, rtol=1e-9, atol=1e-12)
