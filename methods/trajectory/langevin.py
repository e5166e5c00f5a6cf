r"""Langevin dynamics on minibatches, without correcting for its discretisation.

With L the mean loss of a batch, N training rows, prior N(0, p²) and learning rate l, a step is

$$ w \leftarrow w - l\, \nabla\bigl(L + |w|^2 / (2 N p^2)\bigr) + \sqrt{2 l T / N}\; z,
   \qquad z \sim N(0, I) $$

Its stationary distribution tends, for small l and T = 1, to the posterior. Source: Welling and Teh
(2011), "Bayesian Learning via Stochastic Gradient Langevin Dynamics", with step 2 l / N.
"""

import math
from collections.abc import Callable, Collection, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.trajectory.averages import posterior_of

Rate = Callable[[int], tuple[float, float]]
"""Learning rate and temperature of step 0, 1, ..."""


def chains(
    stack: Stack,
    epochs: int,
    prior_std: float | Float[Tensor, " parameters"],
    rate: Rate,
    sampled_steps: Collection[int],
) -> Float[Tensor, "members samples parameters"]:
    """Return the weights after the steps whose numbers are in `sampled_steps`, counted from 1.

    Afterwards the stack has the weights of the last step.
    """
    weights, rows = stack.weights.requires_grad_(), stack.batches.rows
    samples: list[Tensor] = []
    pull = torch.as_tensor(prior_std, dtype=weights.dtype, device=weights.device) ** -2 / rows

    def step(inputs: Tensor, targets: Tensor) -> Tensor:
        learning_rate, temperature = rate(stack.steps)
        loss = stack.loss(weights, inputs, targets)
        (gradient,) = torch.autograd.grad(loss.sum(), weights)
        with torch.no_grad():
            gradient.addcmul_(weights, pull)
            weights.add_(gradient, alpha=-learning_rate)
            if temperature:
                noise = normal(stack.rngs, weights.shape[1], dtype=weights.dtype)
                weights.add_(noise, alpha=math.sqrt(2 * learning_rate * temperature / rows))
        if stack.steps + 1 in sampled_steps:
            samples.append(weights.detach().clone())
        return loss.detach()

    stack.run(epochs, step, changing=[samples])
    stack.weights = weights.detach()
    return torch.stack(samples, 1)


def prior_stds(prior_std: float, problem: Problem) -> float | Float[Tensor, " parameters"]:
    """Return the standard deviations of the problem's prior, or one value for all weights."""
    stds = problem.prior_stds
    return prior_std if stds is None else stds


def evenly(first: int, behind: int, count: int) -> set[int]:
    """Return at most `count` step numbers: the ends of that many equal parts."""
    length = behind - first
    return {first + -(-length * part // count) for part in range(1, count + 1)} if length else set()


def outcomes(
    stack: Stack,
    problems: Sequence[Problem],
    samples: Float[Tensor, "members samples parameters"],
) -> list[Posterior | InferenceDiverged]:
    """Return the mixture of each chain's samples."""
    details = {"samples": float(samples.shape[1])}
    posteriors = [
        posterior_of(stack, problem, m, samples[m], details) for m, problem in enumerate(problems)
    ]
    return stack.outcomes(posteriors, samples.flatten(1))
