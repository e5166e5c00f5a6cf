"""Jacobians, Hessians and Gauss-Newton matrices by automatic differentiation."""

import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Likelihood
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.laplace.gauss_newton import Spectrum
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream


def mode_of(
    architecture: Architecture,
    shape: tuple[int, ...],
    likelihood: Likelihood,
    noise_variance: float = 1.0,
) -> NetworkPosterior:
    """Return a point estimate with random weights and statistics, in float64."""
    network = TorchNetwork(architecture, shape)
    weights = network.initial_weights([stream(5)], dtype=torch.float64)
    weights += 0.1 * torch.randn(weights.shape, generator=stream(6), dtype=torch.float64)
    buffers = network.initial_buffers(weights)
    buffers += 0.2 * torch.rand(buffers.shape, generator=stream(7), dtype=torch.float64)
    noise = noise_variance if isinstance(likelihood, Gaussian) else None
    return NetworkPosterior(network, likelihood, weights, buffers, noise, {})


def jacobian(mode: NetworkPosterior, inputs: Tensor) -> Tensor:
    """Return the derivatives of all outputs by all weights: points, outputs, weights."""

    def outputs(weights: Tensor) -> Tensor:
        return mode.network(weights[None], inputs[None], buffers=mode.buffers)[0]

    slopes = torch.autograd.functional.jacobian(outputs, mode.weights[0])
    assert isinstance(slopes, Tensor)
    return slopes


def gauss_newton(mode: NetworkPosterior, inputs: Tensor) -> Tensor:
    """Return the matrix over all weights, for noise of variance 1."""
    slopes = jacobian(mode, inputs)
    at = mode.network(mode.weights, inputs[None], buffers=mode.buffers)[0].detach()
    classifies = isinstance(mode.likelihood, Categorical)

    def loss(outputs: Tensor) -> Tensor:
        # The Hessian of a classifier's loss by the logits is the same for every label.
        return -outputs.log_softmax(-1)[0] if classifies else 0.5 * outputs.square().sum()

    total = torch.zeros(slopes.shape[2], slopes.shape[2], dtype=slopes.dtype)
    for row, logits in zip(slopes, at, strict=True):
        hessian = torch.autograd.functional.hessian(loss, logits)
        assert isinstance(hessian, Tensor)
        total += row.T @ hessian @ row
    return total


def matrix(spectrum: Spectrum, mode: NetworkPosterior) -> Tensor:
    """Return the matrix that a spectrum represents; 0 for fixed weights."""
    identity = torch.eye(len(spectrum.eigenvalues), dtype=torch.float64)
    vectors = spectrum.weights(identity, mode.weights.shape[1])
    return vectors.T @ (spectrum.eigenvalues[:, None] * vectors)


def normal_inputs(points: int, *shape: int, seed: int = 1) -> Tensor:
    """Return standard normals in float64."""
    return torch.randn(points, *shape, generator=stream(seed), dtype=torch.float64)
