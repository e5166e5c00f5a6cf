"""Torch networks made from their layers, and the shared parts of torch fits."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bnnbench.methods.libraries.inside.task import Diverged, Task

ELEMENTWISE = {"ReLU": nn.ReLU, "Tanh": nn.Tanh, "Sigmoid": nn.Sigmoid, "Swish": nn.SiLU}
POOLS = {"MaxPool2d": nn.MaxPool2d, "AvgPool2d": nn.AvgPool2d}


def network(task: Task) -> nn.Sequential:
    """Return the task's network, with the weights sent with it."""
    inputs = torch.from_numpy(task.arrays["inputs"])
    values, layers = inputs[:1], []
    for entry in task.architecture:
        layers.append(_layer(entry, values.shape[1]).to(inputs.dtype))
        with torch.no_grad():
            values = layers[-1](values)
    built = nn.Sequential(*layers)
    set_weights(built, torch.from_numpy(task.arrays["weights"]))
    return built


def set_weights(built: nn.Module, weights: Tensor) -> None:
    """Copy a flat vector into a network's parameters: layer by layer, weight before bias."""
    nn.utils.vector_to_parameters(weights.clone(), built.parameters())


def weights_of(built: nn.Module) -> Tensor:
    """Return the parameters of a network as a flat vector."""
    return nn.utils.parameters_to_vector(built.parameters()).detach().clone()


def _layer(entry: Any, width: int) -> nn.Module:
    kind = entry["layer"]
    if kind == "Linear":
        return nn.Linear(width, entry["outputs"], bias=entry["bias"])
    if kind == "Conv2d":
        options = {name: entry[name] for name in ("stride", "padding", "bias")}
        return nn.Conv2d(width, entry["channels"], entry["kernel"], **options)
    if kind == "Dropout":
        return nn.Dropout(entry["rate"])
    if kind == "LeakyReLU":
        return nn.LeakyReLU(entry["slope"])
    if kind == "Flatten":
        return nn.Flatten()
    if kind == "GlobalAvgPool2d":
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return ELEMENTWISE[kind]() if kind in ELEMENTWISE else POOLS[kind](entry["size"])


class Likelihood:
    """The loss of a batch; a regression's noise variance is stated, or learned in training.

    A learned variance is a running average of squared residuals over about an epoch and ten
    batches.
    """

    def __init__(self, task: Task) -> None:
        self.classes = task.classes
        self.learned = task.classes is None and task.noise_std is None
        self.variance = 1.0 if task.noise_std is None else task.noise_std**2
        rows = len(task.arrays["inputs"])
        self._memory = rows + 10 * min(rows, int(task.settings.get("batch_size", rows)))

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean negative log likelihood of the batch, in nats."""
        if self.classes is not None:
            return functional.cross_entropy(outputs, targets.long())
        squares = (outputs - targets).square().mean()
        if self.learned:
            share = len(outputs) / self._memory
            self.variance += share * (float(squares.detach()) - self.variance)
        each = 0.5 * (squares / self.variance + math.log(2 * math.pi * self.variance))
        return outputs.shape[1] * each

    def prediction(self, outputs: Tensor) -> dict[str, np.ndarray]:
        """Return the arrays of a prediction, given outputs (draws, points, outputs)."""
        if self.classes is not None:
            return {"log_probs": outputs.log_softmax(-1).numpy()}
        variances = torch.full_like(outputs, self.variance)
        return {"means": outputs.numpy(), "variances": variances.numpy()}

    @property
    def diagnostics(self) -> dict[str, float]:
        """The noise of a regression."""
        return {} if self.classes is not None else {"noise_std": self.variance**0.5}


def batches(task: Task, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the batches of one epoch in random order."""
    inputs, targets = (torch.from_numpy(task.arrays[name]) for name in ("inputs", "targets"))
    order = torch.randperm(len(inputs), generator=generator)
    for rows in order.split(task.settings["batch_size"]):
        yield inputs[rows], targets[rows]


def require_finite(weights: Tensor) -> None:
    """Raise `Diverged` unless all numbers are finite."""
    if not weights.isfinite().all():
        raise Diverged("the fit is no longer finite")


@torch.no_grad()
def outputs_of(built: nn.Module, weights: Tensor, inputs: np.ndarray) -> Tensor:
    """Return the outputs of each weight vector, (draws, points, outputs)."""
    points, rows = torch.from_numpy(inputs), []
    for one in weights:
        set_weights(built, one)
        rows.append(built(points))
    return torch.stack(rows)
