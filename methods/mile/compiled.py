"""The loss of rectified perceptrons on a CPU, with a compiled gradient."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.hmc.kernels import likelihoods, trajectories
from bnnbench.methods.hmc.kernels.products import VECTOR_BYTES
from bnnbench.methods.hmc.scaled_networks import padded
from bnnbench.methods.mile.likelihood import constant_of, read
from bnnbench.methods.mile.model import Model
from bnnbench.methods.networks.architectures import LeakyReLU, ReLU
from bnnbench.methods.networks.perceptron import as_perceptron


class CompiledLoss:
    """The loss of members, one after another; a member's rounding depends on no other."""

    def __init__(self, model: Model, splits: Sequence[Split]) -> None:
        """Raises `Unsupported` for another network, device or number type."""
        first, members = splits[0], len(splits)
        network = as_perceptron(model.architecture, model.network.input_shape, ReLU, LeakyReLU)
        if first.inputs.device.type != "cpu" or first.inputs.dtype not in _TYPES:
            raise Unsupported(f"needed float32 or float64 on a CPU; got {first.inputs.dtype}")
        slope = getattr(network.activation, "slope", 0.0)
        self._model, self._points = model, len(first)
        self.states = first.inputs.new_zeros(members, model.network.parameter_count)
        self.gradients = torch.zeros_like(self.states)
        self._losses = torch.zeros(members, dtype=torch.float64)
        rows = padded(self._points, 4)
        self._outputs = first.inputs.new_zeros(members, rows, network.widths[-1])
        data = _data(splits, rows)
        self._constant = constant_of(model, self._points, data[1].shape[-1])
        self._given = (
            _layers(network.widths),
            data[0].dtype.type(slope),
            _kind(model),
            1 / (model.noise_variance or 1.0),
            _workspace(network.widths, first.inputs),
            self.states.numpy(),
            self.gradients.numpy(),
            (*data, self._points),
            self._outputs.numpy(),
            self._losses.numpy(),
        )

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        likelihoods.differentiate(*self._given)

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in nats and float64, at the states that were differentiated last."""
        return self._losses + self._constant

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return means, means and variances, or log probabilities of the first points."""
        return read(self._model, self._outputs[:, : min(points, self._points)].clone())


_TYPES = torch.float32, torch.float64


def _kind(model: Model) -> int:
    if isinstance(model.likelihood, Categorical):
        return likelihoods.CLASSES
    return likelihoods.MEAN_AND_STD if model.learns_std else likelihoods.KNOWN_NOISE


def _layers(widths: Sequence[int]) -> np.ndarray:
    """Return the table of layers: inputs, outputs, an unused column, and offset."""
    layers, offset = [], 0
    for inputs, outputs in pairwise(widths):
        layers.append((inputs, outputs, 0, offset))
        offset += (inputs + 1) * outputs
    return np.array(layers)


def _data(splits: Sequence[Split], rows: int) -> tuple[np.ndarray, ...]:
    """Return inputs with a 1 for the bias, targets, and each member's place in them."""
    distinct = {id(split): split for split in splits}
    first, count = splits[0].inputs, len(splits[0])
    features, lanes = first[0].numel(), VECTOR_BYTES // first.element_size()
    x = first.new_zeros(len(distinct), rows, padded(features + 1, lanes))
    y = first.new_zeros(len(distinct), rows, splits[0].targets[0].numel())
    for inputs, targets, split in zip(x, y, distinct.values(), strict=True):
        inputs[:count, :features] = split.inputs.flatten(1)
        inputs[:count, features] = 1
        targets[:count] = split.targets.reshape(count, -1)
    places = {name: number for number, name in enumerate(distinct)}
    return x.numpy(), y.numpy(), np.array([places[id(split)] for split in splits])


def _workspace(widths: Sequence[int], reference: Tensor) -> tuple[np.ndarray, ...]:
    """Return the matrices of a workspace, in the order of kernels/trajectories.py.

    A weight of 1 from each bias unit to the next hidden layer's copies the 1 upwards.
    """
    side = padded(max(widths) + 1, VECTOR_BYTES // reference.element_size())
    depth = len(widths) - 1
    shapes = [(depth, side, side)] * 3 + [(depth, trajectories.POINTS, side)]
    shapes.append((2, trajectories.POINTS, side))
    work = tuple(reference.new_zeros(shape).numpy() for shape in shapes)
    for number, (inputs, outputs) in enumerate(pairwise(widths[:-1])):
        work[1][number, inputs, outputs] = 1
    return work
