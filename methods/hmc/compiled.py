"""Rectified perceptrons with Gaussian noise on a CPU, with compiled trajectories."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from bnnbench.datasets.base import Gaussian, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.hmc.kernels import trajectories
from bnnbench.methods.hmc.kernels.products import VECTOR_BYTES
from bnnbench.methods.hmc.scaled_networks import padded
from bnnbench.methods.hmc.scaled_perceptron import Dense, ScaledPerceptron
from bnnbench.methods.networks.architectures import LeakyReLU, ReLU
from bnnbench.methods.networks.perceptron import Perceptron, as_perceptron

ROWS_AT_ONCE = 2**15
"""Number of members' rows in one call, which may last a second and cannot be interrupted."""


class CompiledPerceptron(ScaledPerceptron):
    """Dense layers with ReLU or leaky ReLU between them, for real targets."""

    def __init__(self, perceptron: Perceptron, reference: Tensor) -> None:
        super().__init__(perceptron, reference)
        activation = perceptron.activation
        self._slope = activation.slope if isinstance(activation, LeakyReLU) else 0.0

    @classmethod
    def of(cls, problem: Problem) -> "CompiledPerceptron":
        """Return a problem's network.

        Raises `Unsupported` for another architecture, likelihood, device or number type.
        """
        network = as_perceptron(problem.architecture, problem.input_shape, ReLU, LeakyReLU)
        inputs = problem.train.inputs
        if not isinstance(problem.likelihood, Gaussian):
            raise Unsupported(f"needed a Gaussian likelihood; got {problem.likelihood}")
        if inputs.device.type != "cpu" or inputs.dtype not in (torch.float32, torch.float64):
            raise Unsupported(
                f"needed float32 or float64 on a CPU; got {inputs.dtype} on {inputs.device}"
            )
        return cls(network, inputs)

    def members_at_once(self, points: int) -> int:
        """Return the number of members in a loss."""
        return max(1, ROWS_AT_ONCE // points)

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> "CompiledLoss":
        """Return the loss of members with these data."""
        return CompiledLoss(self.layers, len(self.free), self._slope, inputs, targets)


class CompiledLoss:
    """The loss of members, one after another, each along its whole trajectory."""

    def __init__(
        self,
        layers: Sequence[Dense],
        size: int,
        slope: float,
        inputs: Float[Tensor, "members points *features"],
        targets: Float[Tensor, "members points outputs"],
    ) -> None:
        members, self._points = inputs.shape[:2]
        self.states = inputs.new_zeros(members, size)
        self.gradients = torch.zeros_like(self.states)
        self._losses = torch.zeros(members, dtype=torch.float64)
        rows, lanes = padded(self._points, 4), VECTOR_BYTES // inputs.element_size()
        x = inputs.new_zeros(members, rows, padded(layers[0].inputs + 1, lanes))
        x[:, : self._points, : layers[0].inputs] = inputs.flatten(2)
        x[:, : self._points, layers[0].inputs] = 1
        self._targets = inputs.new_zeros(members, rows, layers[-1].outputs)
        self._targets[:, : self._points] = targets
        self._residuals = torch.zeros_like(self._targets)
        number = x.numpy().dtype.type
        self._given = (
            np.array([(each.inputs, each.outputs, each.columns, each.offset) for each in layers]),
            np.array([layer.scale for layer in layers], number),
            number(slope),
            _workspace(layers, x),
            *_arrays(self.states, self.gradients),
            (*_arrays(x, self._targets, self._residuals), self._points),
            self._losses.numpy(),
        )

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        trajectories.differentiate(*self._given)

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in float64, at the states that were differentiated last."""
        return self._losses.clone()

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return the means of the first points, at the same states."""
        return (self._residuals + self._targets)[:, : min(points, self._points)]

    def leapfrog(
        self,
        momenta: Float[Tensor, "members size"],
        drift: Float[Tensor, "members size"],
        data_kick: Float[Tensor, "members 1"],
        prior_kick: Float[Tensor, "members 1"],
        steps: Int[Tensor, " members"],
    ) -> None:
        """Move the states and the momenta by this number of steps, in place (`SteppedLoss`)."""
        kicks = torch.cat([data_kick, prior_kick], dim=1)
        trajectories.leapfrog(*self._given, *_arrays(momenta, drift, kicks, steps))


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    return [tensor.numpy() for tensor in tensors]


def _workspace(layers: Sequence[Dense], x: Tensor) -> tuple[np.ndarray, ...]:
    """Return the matrices of a workspace, in the order of kernels/trajectories.py.

    A weight of 1 from each bias unit to the next hidden layer's copies the 1 upwards.
    """
    widths = [layers[0].inputs, *(layer.outputs for layer in layers)]
    side = padded(max(widths) + 1, VECTOR_BYTES // x.element_size())
    depth = len(layers)
    shapes = [(depth, side, side)] * 3 + [(depth, trajectories.POINTS, side)]
    shapes.append((2, trajectories.POINTS, side))
    work = tuple(x.new_zeros(shape).numpy() for shape in shapes)
    for number, layer in enumerate(layers[:-1]):
        work[1][number, layer.inputs, layer.outputs] = 1
    return work
