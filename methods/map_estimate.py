r"""The most probable weights: Adam on the log posterior under a Gaussian prior of all weights.

$$ \sum_n -\log p(y_n \mid x_n, w) + \sum_i w_i^2 / (2 p_i^2), $$

where p_i is the prior standard deviation of weight i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.optimisers import Adam
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_positive
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class MapEstimate(Stacked):
    """The weights at a maximum of the posterior density; unknown noise of a regression is learned.

    The initial weights are a draw from the problem's prior if one is stated, else the usual
    initialisation. A data set of at most `batch_size` rows is one batch with an exact gradient.
    """

    card: ClassVar[Card] = Card("point estimates")
    prior_use: ClassVar[PriorUse] = "given"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(1e-3, 1e-1), "prior_std": Log(0.1, 10.0)},
        length="epochs",
        learned_noise=True,
    )

    learning_rate: float = 1e-2
    prior_std: float = 1.0
    """Prior standard deviation of all weights, if the problem states no prior."""
    epochs: int = 1000
    batch_size: int = 1024
    schedule: Schedule = "cosine"

    def __post_init__(self) -> None:
        check_descent(self)
        require_positive(self, "prior_std")

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point posterior of each problem."""
        stack = Stack(problems, rngs, self.batch_size)
        weights = stack.weights
        stds = problems[0].prior_stds
        if stds is None:
            stds = weights.new_full((weights.shape[1],), self.prior_std)
        else:
            weights.copy_(normal(stack.streams, weights.shape[1], dtype=weights.dtype) * stds)
        optimiser = Adam([weights], [self.learning_rate] * len(weights))
        rows = stack.batches.rows

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            active = weights[: len(inputs)].detach().requires_grad_()
            loss = stack.loss(active, inputs, targets)
            objective = loss + (active / stds).square().sum(1) / (2 * rows)
            optimiser.step(*torch.autograd.grad(objective.sum(), active))
            return objective.detach()

        stack.run(self.epochs, step, optimiser, self.schedule)
        return stack.outcomes([stack.posterior(m) for m in range(len(problems))])
