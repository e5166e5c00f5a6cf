"""The last linear layer of a trained network, and its standardised inputs."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.fitting.starts import require_weights_of, start_of_problem
from bnnbench.methods.laplace.layer_recorder import LayerRecorder
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.start import Start
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.tuning.rows import rescaled

POINTS_AT_ONCE = 500
NEGLIGIBLE = 1e-6
"""Standard deviation of a feature, relative to the largest, below which it counts as constant."""


@dataclass(frozen=True)
class LastFeatures:
    """The standardised inputs of a trained network's last linear layer."""

    network: TorchNetwork
    start: Start
    mean: Float[Tensor, " features"]
    std: Float[Tensor, " features"]
    target_mean: float = 0.0
    target_std: float = 1.0
    """Unit of a regression's targets, as the method sees them."""

    @classmethod
    def of(cls, problem: Problem) -> "LastFeatures":
        """Return the features of a problem's trained network.

        Raises `Unsupported` without one, and for a network that does not end in a linear layer, and
        `InferenceDiverged` if features are not finite.
        """
        network = TorchNetwork(problem.architecture, problem.input_shape)
        start = start_of_problem(problem)
        require_weights_of(start, network)
        inputs = problem.train.inputs
        start = replace(start, weights=start.weights.to(inputs), buffers=start.buffers.to(inputs))
        rows = inputs_of_last_layer(network, start, inputs)
        if not rows.isfinite().all():
            raise InferenceDiverged("the features are not finite")
        std = rows.std(0, correction=0)
        std = torch.where(std > NEGLIGIBLE * std.max(), std, 1.0)
        mean = rows.mean(0) if _layer(network).bias else torch.zeros_like(std)
        return cls(network, start, mean, std, *_target_units(problem, _layer(network).bias))

    def __call__(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float[Tensor, "points features"]:
        """Return the features of each point."""
        rows = inputs_of_last_layer(self.network, self.start, inputs)
        return (rows - self.mean) / self.std

    @property
    def layer(self) -> Linear:
        """The last layer."""
        return _layer(self.network)

    @property
    def start_of_layer(self) -> Start:
        """The trained last layer, as a function of these features."""
        block = LayerRecorder(self.network, last_only=True).blocks[0]
        vector = self.start.weights[block.start : block.stop]
        matrix, bias = vector.split([block.units * len(self.std), self.layer.bias * block.units])
        matrix = matrix.view(block.units, -1)
        bias = bias + (matrix @ self.mean)[: len(bias)] - self.target_mean
        weights = torch.cat([(matrix * self.std).flatten(), bias]) / self.target_std
        noise = self.start.noise_variance
        return Start(weights, weights[:0], noise and noise / self.target_std**2)

    def of_split(self, split: Split) -> Split:
        """Return the rows with features as inputs, and targets in their unit."""
        targets = split.targets
        if targets.is_floating_point():
            targets = (targets - self.target_mean) / self.target_std
        return Split(self(split.inputs), targets)

    def in_original_units(self, prediction: Predictive) -> Predictive:
        """Return a prediction of the last layer in the units of the problem."""
        return rescaled(prediction, self.target_mean, self.target_std)


@torch.no_grad()
def inputs_of_last_layer(
    network: TorchNetwork, start: Start, inputs: Float[Tensor, "points *features"]
) -> Float[Tensor, "points features"]:
    """Return what a network's last linear layer receives at each point."""
    recorder = LayerRecorder(network, last_only=True)
    weights, buffers = start.weights[None], start.buffers[None]
    rows = [
        recorder.last_inputs(weights, buffers, points).detach()
        for points in inputs.split(POINTS_AT_ONCE)
    ]
    return torch.cat(rows)


def _target_units(problem: Problem, shifts: bool) -> tuple[float, float]:
    """Return mean and standard deviation of a regression's targets; 0 and 1 for classes.

    The mean is 0 if the layer has no bias that could take it.
    """
    if problem.likelihood != Gaussian(None):
        return 0.0, 1.0
    targets = problem.train.targets.double()
    std = float(targets.std(correction=0))
    return float(targets.mean()) * shifts, std if std > 0 else 1.0


def _layer(network: TorchNetwork) -> Linear:
    layer = LayerRecorder(network, last_only=True).blocks[0].layer
    assert isinstance(layer, Linear)
    return layer
