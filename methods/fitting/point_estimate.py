"""Fitting one weight vector per problem with an optimiser of stacked weights."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem, Unsupported
from bnnbench.methods.fitting.optimisers import StackedOptimiser
from bnnbench.methods.fitting.training import Schedule, Stack
from bnnbench.methods.networks.architectures import Architecture


@runtime_checkable
class Settings(Protocol):
    """A method that is a descent; no epochs leave a trained network as it is."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior: ...
    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def schedule(self) -> Schedule: ...
    @classmethod
    def optimiser(cls, variants: Sequence[Any], weights: Tensor) -> StackedOptimiser:
        """Return the optimiser of stacked weights; each row has the settings of its variant."""
        ...


def descend(
    variants: Sequence[Settings],
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    *,
    architecture: Architecture | None = None,
    times_noise_variance: bool = False,
    label_smoothing: float = 0.0,
) -> Stack:
    """Return the stack after gradient descent on the negative log likelihood.

    Each problem has a variant of one method's settings, with most epochs first.
    """
    first = variants[0]
    stack = Stack(problems, rngs, first.batch_size, architecture, label_smoothing=label_smoothing)
    optimiser = first.optimiser(variants, stack.weights)

    def step(inputs: Tensor, targets: Tensor) -> Tensor:
        weights = stack.weights[: len(inputs)].detach().requires_grad_()
        loss = stack.loss(weights, inputs, targets)
        scaled = loss
        if times_noise_variance and stack.noise:
            scaled = loss * stack.noise.variance[: len(inputs)]
        optimiser.step(*torch.autograd.grad(scaled.sum(), weights))
        return loss.detach()

    stack.run([variant.epochs for variant in variants], step, optimiser, first.schedule)
    return stack


def require_descent(method: object, training: Settings) -> None:
    """Raise `Unsupported` for a training of no epochs, by a method that consists in training."""
    if not training.epochs:
        raise Unsupported(
            f"{type(method).__name__} consists in training with another loss, and "
            f"{type(training).__name__} does not train: take AdamW or Sgd, which continue from a "
            "trained network"
        )


def fit_point(
    variants: Sequence[Settings],
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    *,
    times_noise_variance: bool = False,
) -> list[Posterior | InferenceDiverged]:
    """Return the point posterior of each problem, at a single weight vector."""
    stack = descend(variants, problems, rngs, times_noise_variance=times_noise_variance)
    return stack.outcomes([stack.posterior(m) for m in range(len(problems))])
