"""Fitting one weight vector per problem with an optimiser of stacked weights."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.training import Schedule, Stack
from bnnbench.methods.networks.architectures import Architecture


@runtime_checkable
class Settings(Protocol):
    """Settings of a method's descent."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def schedule(self) -> Schedule: ...
    def optimiser(self, weights: Tensor) -> torch.optim.Optimizer: ...


def descend(
    settings: Settings,
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    *,
    architecture: Architecture | None = None,
    times_noise_variance: bool = False,
) -> Stack:
    """Return the stack after gradient descent on the negative log likelihood."""
    stack = Stack(problems, rngs, settings.batch_size, architecture)
    weights = stack.weights.requires_grad_()
    optimiser = settings.optimiser(weights)

    def step(inputs: Tensor, targets: Tensor) -> Tensor:
        loss = stack.loss(weights, inputs, targets)
        optimiser.zero_grad()
        scaled = loss * stack.noise.variance if times_noise_variance and stack.noise else loss
        scaled.sum().backward()
        optimiser.step()
        return loss.detach()

    stack.run(settings.epochs, step, optimiser, settings.schedule)
    stack.weights = weights.detach()
    return stack


def fit_point(
    settings: Settings,
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    *,
    times_noise_variance: bool = False,
) -> list[Posterior | InferenceDiverged]:
    """Return the point posterior of each problem, at one weight vector."""
    stack = descend(settings, problems, rngs, times_noise_variance=times_noise_variance)
    return stack.outcomes([stack.posterior(m) for m in range(len(problems))])
