"""Stochastic gradient Hamiltonian Monte Carlo by the library posteriors.

Source: Chen, Fox and Guestrin (2014), "Stochastic Gradient Hamiltonian Monte Carlo".
"""

from dataclasses import dataclass

import numpy as np
import posteriors
import torch
from torch import Tensor, nn

from bnnbench.methods.libraries.inside.task import Task
from bnnbench.methods.libraries.inside.torch_networks import (
    Likelihood,
    batches,
    network,
    outputs_of,
    require_finite,
)
from bnnbench.methods.predictions.levels import floor_of

DISTRIBUTIONS = ("posteriors", "torch")


@dataclass
class Posterior:
    """Weight vectors of one chain."""

    network: nn.Module
    weights: Tensor
    likelihood: Likelihood
    work: dict[str, int]

    @property
    def diagnostics(self) -> dict[str, float]:
        """The number of weight vectors, and the noise of a regression."""
        return {"samples": float(len(self.weights))} | self.likelihood.diagnostics

    def predict(self, inputs: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Return the outputs of every weight vector; nothing is drawn."""
        return self.likelihood.prediction(outputs_of(self.network, self.weights, inputs))


def fit(task: Task) -> Posterior:
    """Return weight vectors recorded at even intervals of the chain after its burn-in."""
    torch.manual_seed(task.seed)  # the sampler draws from the global generator
    settings, built, likelihood = task.settings, network(task), Likelihood(task)
    rows = len(task.arrays["inputs"])
    stds = torch.from_numpy(task.arrays["prior_stds"])
    names = [name for name, _ in built.named_parameters()]
    pieces = stds.split([p.numel() for p in built.parameters()])
    precisions = dict(zip(names, (piece**-2 for piece in pieces), strict=True))

    def log_posterior(parameters: dict[str, Tensor], batch: tuple[Tensor, Tensor]):
        outputs = torch.func.functional_call(built, parameters, batch[0])
        prior = -sum(
            (precisions[name] * value.flatten().square()).sum() / 2
            for name, value in parameters.items()
        )
        loss = likelihood.loss(outputs, batch[1])
        return prior / rows - loss, loss

    parameters = {name: value.detach().clone() for name, value in built.named_parameters()}
    transform = posteriors.sgmcmc.sghmc.build(
        log_posterior,
        lr=settings["learning_rate"],
        alpha=settings["friction"],
        temperature=settings["temperature"] / rows,
        momenta=0.0,
    )
    state = transform.init(parameters)
    order = torch.Generator().manual_seed(task.seed)
    steps_of_epoch = -(-rows // settings["batch_size"])
    steps = settings["epochs"] * steps_of_epoch
    sampled_steps = _sampled_steps(steps, settings["burn_in"], settings["draws"])
    weights, step = [], 0
    for epoch in range(settings["epochs"]):
        total = 0.0
        for batch in batches(task, order):
            state, loss = transform.update(state, batch)
            step, total = step + 1, total + float(loss)
            if step in sampled_steps:
                vector = [state.params[name].detach().flatten() for name in names]
                weights.append(torch.cat(vector).clone())
        task.report(epoch + 1, settings["epochs"], total / steps_of_epoch)
    require_finite(torch.stack(weights))
    work = {"gradient_rows": settings["epochs"] * rows}
    return Posterior(built, torch.stack(weights), likelihood, work)


def _sampled_steps(steps: int, burn_in: float, draws: int) -> set[int]:
    """Return the steps, counted from 1, after which weights are recorded."""
    burnt = floor_of(burn_in, steps)
    return {burnt + -(-(steps - burnt) * part // draws) for part in range(1, draws + 1)}
