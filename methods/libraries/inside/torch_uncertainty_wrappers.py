"""Networks trained by torch's AdamW and wrapped by torch-uncertainty.

Sources: Lakshminarayanan, Pritzel and Blundell (2017), "Simple and Scalable Predictive Uncertainty
Estimation using Deep Ensembles"; Gal and Ghahramani (2016), "Dropout as a Bayesian Approximation".
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_uncertainty.methods import deep_ensembles, mc_dropout

from bnnbench.methods.libraries.inside.task import Task
from bnnbench.methods.libraries.inside.torch_networks import (
    Likelihood,
    batches,
    network,
    require_finite,
    weights_of,
)

DISTRIBUTIONS = ("torch-uncertainty", "torch")


@dataclass
class Posterior:
    """A wrapped network; its outputs concatenate those of all draws."""

    wrapped: Any
    draws: int
    likelihood: Likelihood
    masks: bool
    """True if dropout draws new masks per call: points are then passed singly, with one seed."""
    work: dict[str, int]

    @property
    def diagnostics(self) -> dict[str, float]:
        """The noise of a regression."""
        return self.likelihood.diagnostics

    @torch.no_grad()
    def predict(self, inputs: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Return the outputs of every draw."""
        points = torch.from_numpy(inputs)
        parts = points.split(1 if self.masks else len(points))
        return self.likelihood.prediction(torch.cat([self._outputs(p, seed) for p in parts], 1))

    def _outputs(self, points: Tensor, seed: int) -> Tensor:
        torch.manual_seed(seed)
        return self.wrapped(points).unflatten(0, (self.draws, len(points)))


def fit(task: Task) -> Posterior:
    """Return the wrapper of all trained networks."""
    torch.manual_seed(task.seed)  # masks in training come from the global generator
    starts = task.arrays["starts"]
    kind = "classification" if task.classes else "regression"
    trained = [_trained(task, start, number) for number, start in enumerate(starts)]
    likelihood = trained[0][1]
    likelihood.variance = float(np.mean([each.variance for _, each in trained]))
    rows = len(starts) * len(task.arrays["inputs"])
    work = {"gradient_rows": task.settings["epochs"] * rows}
    if "size" in task.settings:
        networks = [built.eval() for built, _ in trained]
        ensemble = deep_ensembles(networks, task=kind, probabilistic=False)
        return Posterior(ensemble.eval(), len(networks), likelihood, False, work)
    draws = task.settings["draws"]
    dropout = mc_dropout(trained[0][0], draws, task=kind, probabilistic=False)
    return Posterior(dropout.eval(), draws, likelihood, True, work)


def _trained(task: Task, start: np.ndarray, number: int) -> tuple[nn.Module, Likelihood]:
    """Return a network after all epochs, with a cosine learning-rate schedule by epoch."""
    settings, count = task.settings, len(task.arrays["starts"])
    built = network(replace(task, arrays={**task.arrays, "weights": start})).train()
    likelihood = Likelihood(task)
    options = {"lr": settings["learning_rate"], "weight_decay": settings["weight_decay"]}
    optimiser = torch.optim.AdamW(built.parameters(), **options)
    epochs = settings["epochs"]
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    order = torch.Generator().manual_seed(task.seed + number)
    for epoch in range(epochs):
        losses = []
        for inputs, targets in batches(task, order):
            optimiser.zero_grad()
            loss = likelihood.loss(built(inputs), targets)
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        schedule.step()
        task.report(number * epochs + epoch + 1, count * epochs, float(np.mean(losses)))
    require_finite(weights_of(built))
    return built, likelihood
