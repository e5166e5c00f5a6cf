"""Posteriors of plain matrices, and both filters under one name."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.pbp import compiled, reference
from bnnbench.methods.pbp.propagation import outputs
from bnnbench.methods.pbp.state import Layout, State, initial, with_bias

BACKENDS = {"compiled": compiled, "reference": reference}


def matrix(values) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def state_of(
    means: Sequence, variances: Sequence | float, noise=((6, 6),), learns_noise: bool = True
) -> State:
    """Return a posterior with these weights, a matrix per layer, before any refinement."""
    means = [torch.atleast_2d(matrix(layer)) for layer in means]
    widths = (means[0].shape[1] - 1, *(len(layer) for layer in means))
    rng = torch.Generator().manual_seed(0)
    state = initial(Layout(widths), (6.0, 6.0), matrix(noise), learns_noise, rng)
    if isinstance(variances, float):
        variances = [torch.full_like(layer, variances) for layer in means]
    for values, layers in ((state.mean, means), (state.variance, variances)):
        for view, layer in zip(state.layout.layers(values), layers, strict=True):
            view.copy_(torch.atleast_2d(torch.as_tensor(layer, dtype=torch.float64)))
    return state


def random_state(widths: Sequence[int], seed: int = 0, outputs_noise=(6.0, 6.0)) -> State:
    """Return a posterior with random, distinct weights."""
    rng = torch.Generator().manual_seed(seed)
    noise = torch.tensor([outputs_noise] * widths[-1], dtype=torch.float64)
    state = initial(Layout(tuple(widths)), (6.0, 6.0), noise, True, rng)
    for mean, variance in zip(
        weights(state.mean, state), weights(state.variance, state), strict=True
    ):
        mean.normal_(generator=rng)
        variance.uniform_(0.1, 1.5, generator=rng)
    return state


def weights(values: Tensor, state: State) -> list[Tensor]:
    return state.layout.layers(values)


def flat(values: Tensor, state: State) -> Tensor:
    """Return the weights' values layer by layer and row by row."""
    return torch.cat([layer.flatten() for layer in state.layout.layers(values)])


def filter_of(backend: str, state: State, inputs, targets, covariances: bool = False):
    """Return the filter of rows that are plain lists or tensors."""
    inputs = torch.as_tensor(inputs, dtype=torch.float64)
    targets = torch.as_tensor(np.asarray(targets))
    targets = targets.double() if targets.dim() == 2 else targets
    return BACKENDS[backend].Filter(state, with_bias(inputs), targets, covariances)


def take(backend: str, state: State, inputs, target, covariances: bool = False) -> float:
    """Take one row: an input, and a list of targets or a label."""
    return filter_of(backend, state, [inputs], [target], covariances).take(torch.tensor([0]))


def moments(state: State, inputs, covariances: bool = False) -> tuple[Tensor, Tensor]:
    """Return mean and variance of the outputs at rows of inputs."""
    return outputs(state, torch.as_tensor(inputs, dtype=torch.float64), covariances)
