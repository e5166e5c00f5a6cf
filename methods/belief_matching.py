r"""Belief matching: a network whose outputs are a Dirichlet belief about the class probabilities.

With concentrations α(x) = exp(outputs) and a symmetric Dirichlet prior of concentration β, the
loss of a row is the negative evidence bound of its own probabilities, with the divergence weighted
by λ:

$$ \psi(\alpha_0) - \psi(\alpha_y) + \lambda KL[Dir(\alpha) \| Dir(\beta)], \qquad
   \alpha_0 = \sum_k \alpha_k $$

Source: Joo, Chung and Seo (2020), "Being Bayesian about Categorical Probability".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor
from torch.nn import functional

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.point_estimate import Settings, require_descent
from bnnbench.methods.fitting.settings import require_positive
from bnnbench.methods.fitting.targets import require_classes
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.tuning.space import Log, Space, compose, space_of


@dataclass(frozen=True)
class BeliefMatching(Stacked):
    """A point estimate of the weights, which predicts with the mean of the Dirichlet belief.

    If outputs were free for each input, the belief would be the prior plus 1/λ rows with the class
    frequencies at that input.
    """

    card: ClassVar[Card] = Card(
        "point estimates", problems=("mlp classification", "cnn classification")
    )

    divergence_weight: float = 0.01
    """The weight λ of the divergence from the prior; 1 is the evidence bound of a single row."""
    concentration: float = 1.0
    """The prior's concentration β, equal for all classes; 1 is the uniform distribution."""
    training: Settings = field(default_factory=AdamW)

    prior_use: ClassVar[PriorUse] = "own"

    def __post_init__(self) -> None:
        require_positive(self, "divergence_weight", "concentration")

    @classmethod
    def matching_function_space(cls, training: Settings) -> "BeliefMatching":
        """Return the method with the divergence weighted as in function space, by 1/batch.

        Free outputs would then predict like paper 003's objective with one function.
        """
        return cls(1 / training.batch_size, training=training)

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        weights = Space({"divergence_weight": Log(1e-4, 1.0)})
        return compose("training", space_of(self.training), weights)

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem; raises `Unsupported` for a regression."""
        require_classes(self, problems[0].likelihood)
        require_descent(self, self.training)
        stack = Stack(problems, rngs, self.training.batch_size)
        variants: list[Any] = [self.training] * len(problems)
        optimiser = self.training.optimiser(variants, stack.weights)

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            weights = stack.weights.detach().requires_grad_()
            outputs = stack.network(
                weights, inputs, buffers=stack.buffers, training=True, rngs=stack.streams
            )
            losses = belief_loss(outputs, targets, self.divergence_weight, self.concentration)
            optimiser.step(*torch.autograd.grad(losses.mean(1).sum(), weights))
            stack.log_loss += cross_entropies(outputs.detach(), targets)
            return losses.detach().mean(1)

        stack.run(self.training.epochs, step, optimiser, self.training.schedule)
        return stack.outcomes([stack.posterior(m) for m in range(len(problems))])


def belief_loss(
    outputs: Float[Tensor, "members rows classes"],
    targets: Int[Tensor, "members rows"],
    weight: float,
    concentration: float,
) -> Float64[Tensor, "members rows"]:
    """Return the negative evidence bound of every row, in nats."""
    alpha = outputs.double().exp()
    total = alpha.sum(-1)
    expected_logs = alpha.digamma() - total.digamma()[..., None]
    fit = expected_logs.gather(-1, targets.long()[..., None]).squeeze(-1)
    classes = alpha.shape[-1]
    normaliser = math.lgamma(classes * concentration) - classes * math.lgamma(concentration)
    divergence = (
        total.lgamma()
        - alpha.lgamma().sum(-1)
        + ((alpha - concentration) * expected_logs).sum(-1)
        - normaliser
    )
    return weight * divergence - fit


def cross_entropies(
    outputs: Float[Tensor, "members rows classes"], targets: Int[Tensor, "members rows"]
) -> Float[Tensor, " members"]:
    """Return the mean negative log probability of the targets under the mean belief, in nats."""
    losses = functional.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="none")
    return losses.view(targets.shape).mean(1)
