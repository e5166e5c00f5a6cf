"""Negative log likelihoods of many weight vectors side by side, with their gradients."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.hmc.method import Backend
from bnnbench.methods.mile.likelihood import row_losses
from bnnbench.methods.mile.model import Model

ROWS_AT_ONCE = 2**15
"""Number of members' rows in one call of automatic differentiation."""


@runtime_checkable
class Loss(Protocol):
    """The negative log likelihood of members as a function of their weights."""

    states: Float[Tensor, "members parameters"]
    gradients: Float[Tensor, "members parameters"]

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        ...

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in nats and float64, at the states that were differentiated last."""
        ...

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return means, means and variances, or log probabilities of the first points."""
        ...


def loss_of(model: Model, splits: Sequence[Split], backend: Backend) -> Loss:
    """Return the loss of a member for each of these rows: compiled if possible."""
    if backend == "compiled":
        from bnnbench.methods.mile.compiled import CompiledLoss  # needs numba

        try:
            return CompiledLoss(model, splits)
        except Unsupported:
            pass
    return AutogradLoss(model, splits)


class AutogradLoss:
    """The loss of any network, by automatic differentiation."""

    def __init__(self, model: Model, splits: Sequence[Split]) -> None:
        self._model = model
        first, members = splits[0].inputs, len(splits)
        self.states = first.new_zeros(members, model.network.parameter_count)
        self.gradients = torch.zeros_like(self.states)
        self._losses = torch.zeros(members, dtype=torch.float64, device=first.device)
        at_once = max(1, ROWS_AT_ONCE // len(first))
        self._blocks = [
            (slice(start, start + at_once), *_rows(splits[start : start + at_once]))
            for start in range(0, members, at_once)
        ]
        self._outputs = [first.new_zeros(0)] * len(self._blocks)

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        for number, (part, inputs, targets) in enumerate(self._blocks):
            states = self.states[part].detach().requires_grad_()
            with torch.enable_grad():
                outputs = self._model.network(states, inputs)
                each = targets.expand(len(outputs), *targets.shape[1:])
                losses = row_losses(self._model, outputs, each).double().sum(1)
                (self.gradients[part],) = torch.autograd.grad(losses.sum(), states)
            self._losses[part], self._outputs[number] = losses.detach(), outputs.detach()

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in nats and float64, at the states that were differentiated last."""
        return self._losses.clone()

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return means, means and variances, or log probabilities of the first points."""
        first = torch.cat([outputs[:, :points] for outputs in self._outputs])
        return first.log_softmax(-1) if isinstance(self._model.likelihood, Categorical) else first


def _rows(splits: Sequence[Split]) -> tuple[Tensor, Tensor]:
    """Return inputs and targets with an axis of members, of length 1 if all have the same."""
    if all(split is splits[0] for split in splits):
        splits = splits[:1]
    return torch.stack([s.inputs for s in splits]), torch.stack([s.targets for s in splits])
