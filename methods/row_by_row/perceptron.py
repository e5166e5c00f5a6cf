"""A perceptron and its training rows as arrays, for kernels that update after every row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.networks.architectures import ReLU, Tanh
from bnnbench.methods.networks.perceptron import Perceptron, as_perceptron
from bnnbench.methods.networks.torch_network import TorchNetwork

EXPLODED = 1e3
"""A fit with a mean loss of this many times the baseline's will not recover."""


@dataclass(frozen=True)
class RowPerceptron:
    """Widths and rows in float64.

    Raises `Unsupported` unless it is a ReLU or tanh perceptron with one output per target.
    """

    problem: Problem

    def __post_init__(self) -> None:
        _ = self.perceptron
        require_output_per_target(self.problem)

    @cached_property
    def perceptron(self) -> Perceptron:
        """The architecture as widths and an activation."""
        return as_perceptron(self.problem.architecture, self.problem.input_shape, ReLU, Tanh)

    @cached_property
    def widths(self) -> Int[np.ndarray, " layers"]:
        """The numbers of features, hidden units and outputs."""
        return np.array(self.perceptron.widths)

    @property
    def tanh(self) -> bool:
        """True if hidden units are hyperbolic tangents, False if they are rectified."""
        return isinstance(self.perceptron.activation, Tanh)

    @cached_property
    def network(self) -> TorchNetwork:
        """The network as the same function of weights in torch's order."""
        return TorchNetwork(self.problem.architecture, self.problem.input_shape)

    @property
    def categorical(self) -> bool:
        """True if targets are labels."""
        return isinstance(self.problem.likelihood, Categorical)

    @cached_property
    def inputs(self) -> Float[np.ndarray, "points features"]:
        """The training inputs as vectors."""
        return self.problem.train.inputs.detach().flatten(1).double().cpu().numpy()

    @cached_property
    def targets(self) -> Float[np.ndarray, "points outputs"]:
        """The training targets, with labels one-hot."""
        targets = self.problem.train.targets.detach().cpu()
        if self.categorical:
            targets = torch.nn.functional.one_hot(targets.long(), int(self.widths[-1]))
        return targets.double().numpy()

    @cached_property
    def order(self) -> Int[np.ndarray, " parameters"]:
        """Position of each kernel weight in a torch network's flat vector."""
        parts, offset = [], 0
        for sources, units in zip(self.widths[:-1], self.widths[1:], strict=True):
            weight = offset + np.arange(sources * units).reshape(units, sources)
            bias = offset + sources * units + np.arange(units)
            offset += (sources + 1) * units
            parts.append(np.vstack([weight.T, bias]))
        parts[-1] = parts[-1].T
        return np.concatenate([part.ravel() for part in parts])

    @property
    def baseline_loss(self) -> float:
        """The mean loss of outputs of 0: half the squared targets, or log classes."""
        if self.categorical:
            return math.log(self.widths[-1])
        return float(0.5 * np.square(self.targets).sum(1).mean())

    def initial(self, rng: Generator) -> Float[np.ndarray, " parameters"]:
        """Return torch's default initial weights, in the order of the kernels."""
        (weights,) = self.network.initial_weights([rng], dtype=torch.float64)
        return weights.numpy()[self.order]

    def epochs(self, epochs: int, rng: Generator, *changing: np.ndarray) -> "Iterator[Epoch]":
        """Yield the epochs, each with an order of the rows; the caller sets their losses.

        `changing` are the parts that an epoch changes, for checkpoints.
        """
        for number in checkpoint.epochs(epochs, rng, *changing):
            epoch = Epoch(torch.randperm(len(self.inputs), generator=rng).numpy())
            yield epoch
            work.count("gradient_rows", len(self.inputs))
            if not epoch.loss <= EXPLODED * max(self.baseline_loss, 1.0):
                raise InferenceDiverged(f"the mean loss of epoch {number + 1} is {epoch.loss:.3g}")
            progress.report(number + 1, epochs, epoch.loss)

    def in_torch(self, values: Float[np.ndarray, " parameters"]) -> Float[Tensor, " parameters"]:
        """Return weights, or other numbers per weight, in torch's order, type and device."""
        reference = self.problem.train.inputs
        flat = torch.empty(len(values), dtype=torch.float64)
        flat[torch.from_numpy(self.order)] = torch.from_numpy(values)
        return flat.to(reference)

    def posterior(
        self,
        weights: Float[np.ndarray, " parameters"],
        noise_variance: float | None,
        diagnostics: dict[str, float],
    ) -> NetworkPosterior:
        """Return the point posterior at these weights.

        Raises `InferenceDiverged` unless they are finite.
        """
        weights_in_torch = self.in_torch(weights)[None]
        if not weights_in_torch.isfinite().all():
            raise InferenceDiverged("the weights are no longer finite")
        if noise_variance is not None:
            diagnostics = {"noise_std": math.sqrt(noise_variance)} | diagnostics
        return NetworkPosterior(
            self.network,
            self.problem.likelihood,
            weights_in_torch,
            self.network.initial_buffers(weights_in_torch),
            noise_variance,
            diagnostics,
        )


@dataclass
class Epoch:
    """An order of the rows, and the epoch's mean loss."""

    order: Int[np.ndarray, " points"]
    loss: float = math.nan
