"""ivon-opt, the optimiser of IVON's authors, in a plain torch loop.

Source: Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks".
"""

import math
from dataclasses import dataclass
from typing import Any

import ivon
import numpy as np
import torch
from torch import Tensor, nn

from bnnbench.methods.libraries.inside.task import Task
from bnnbench.methods.libraries.inside.torch_networks import (
    Likelihood,
    batches,
    network,
    outputs_of,
    require_finite,
    weights_of,
)

DISTRIBUTIONS = ("ivon-opt", "torch")


@dataclass
class Posterior:
    """An independent Gaussian over every weight."""

    network: nn.Module
    mean: Tensor
    std: Tensor
    draws: int
    likelihood: Likelihood
    work: dict[str, int]

    @property
    def diagnostics(self) -> dict[str, float]:
        """Width of the posterior, and the noise of a regression."""
        return {"mean_weight_std": float(self.std.mean())} | self.likelihood.diagnostics

    def predict(self, inputs: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Return the outputs of weight draws, or of the mean for no draws."""
        weights = self.mean[None]
        if self.draws:
            generator = torch.Generator().manual_seed(seed)
            shape = self.draws, len(self.mean)
            noise = torch.randn(*shape, generator=generator, dtype=self.mean.dtype)
            weights = self.mean + self.std * noise
        return self.likelihood.prediction(outputs_of(self.network, weights, inputs))


def fit(task: Task) -> Posterior:
    """Return the posterior after all epochs, with a cosine learning-rate schedule by epoch."""
    torch.manual_seed(task.seed)  # the optimiser draws from the global generator
    settings, built, likelihood = task.settings, network(task), Likelihood(task)
    torch.set_default_dtype(next(built.parameters()).dtype)  # the Hessian's initial type
    epochs, rows = settings["epochs"], len(task.arrays["inputs"])
    kind: Any = ivon
    optimiser = kind.IVON(
        built.parameters(),
        lr=settings["learning_rate"],
        ess=float(rows),
        hess_init=settings["initial_hessian"],
        beta1=settings["beta1"],
        beta2=settings["beta2"],
        weight_decay=settings["weight_decay"],
    )
    order = torch.Generator().manual_seed(task.seed)
    for epoch in range(epochs):
        factor = (1 + math.cos(math.pi * epoch / epochs)) / 2
        optimiser.param_groups[0]["lr"] = settings["learning_rate"] * factor
        total = 0.0
        for inputs, targets in batches(task, order):
            with optimiser.sampled_params(train=True):
                optimiser.zero_grad()
                loss = likelihood.loss(built(inputs), targets)
                loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(inputs) / rows
        task.report(epoch + 1, epochs, total)
    group = optimiser.param_groups[0]
    std = (rows * (group["hess"] + group["weight_decay"])).rsqrt()
    mean = weights_of(built)
    require_finite(torch.cat([mean, std]))
    return Posterior(
        built, mean, std, settings["draws"], likelihood, {"gradient_rows": epochs * rows}
    )
