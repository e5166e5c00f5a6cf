"""Networks trained with early stopping, from which chains start; each has its own held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.optimisers import Adam
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.mile.likelihood import row_losses
from bnnbench.methods.mile.model import Model


@dataclass(frozen=True)
class Training:
    """AdamW on the mean negative log likelihood of minibatches, stopped by held-out rows."""

    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    patience: int
    share: float

    def members(
        self, model: Model, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> Float[Tensor, "members parameters"]:
        """Return the weights of each problem's member with the lowest loss of held-out rows."""
        pairs = [spawn(rng, 2) for rng in rngs]
        split = [set_aside(p, self.share, pair[0]) for p, pair in zip(problems, pairs, strict=True)]
        parts, held_out = zip(*split, strict=True)
        streams = [pair[1] for pair in pairs]
        stack = Stack(parts, streams, self.batch_size, model.architecture)
        count = len(problems)
        optimiser = Adam([stack.weights], [self.learning_rate] * count, [self.weight_decay] * count)
        stopping = Stopping(model, stack.weights, held_out, self.patience)

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            weights = stack.weights.detach().requires_grad_()
            loss = row_losses(model, model.network(weights, inputs), targets).mean(1)
            optimiser.step(*torch.autograd.grad(loss.sum(), weights))
            return loss.detach()

        with torch.enable_grad():
            stack.run(self.epochs, step, optimiser, "constant", stopping, stopping.changing)
        return stopping.best


class Stopping:
    """The best weights of each member so far; called after every epoch.

    A member has stopped when its loss of held-out rows has not improved for `patience` epochs.
    Later weights do not count.
    """

    def __init__(
        self, model: Model, weights: Tensor, held_out: Sequence[Split], patience: int
    ) -> None:
        self._model, self._weights, self._patience = model, weights, patience
        self._inputs = torch.stack([rows.inputs for rows in held_out])
        self._targets = torch.stack([rows.targets for rows in held_out])
        self.best, self._losses = weights.clone(), self._held_out_losses()
        self._stale = torch.zeros_like(self._losses)

    @property
    def changing(self) -> list[Tensor]:
        """The tensors that a call changes, for checkpoints."""
        return [self.best, self._losses, self._stale]

    def __call__(self, epoch: int) -> bool:
        """Return whether all members have stopped."""
        losses = self._held_out_losses()
        better = (losses < self._losses) & (self._stale < self._patience)
        self.best.copy_(torch.where(better[:, None], self._weights, self.best))
        self._losses.copy_(torch.where(better, losses, self._losses))
        self._stale.copy_(torch.where(better, 0.0, self._stale + 1))
        return bool((self._stale >= self._patience).all())

    @torch.no_grad()
    def _held_out_losses(self) -> Float[Tensor, " members"]:
        outputs = self._model.network(self._weights, self._inputs)
        return row_losses(self._model, outputs, self._targets).mean(1)
