"""Batches visited in turn, each of them counted exactly once.

The marginal of every weight is its prior times the stored message of every batch, its aggregate.
A visit divides out the batch's aggregate, passes messages again (passing.py), and multiplies in
the new one. Visits that fail are repeated with calmer schedules (retries.py).
Source: paper 000, section 4.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Generator, Tensor

from bnnbench.methods.message_passing.guard import WATCHED, Watch
from bnnbench.methods.message_passing.heads import Head
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.passing import Examples
from bnnbench.methods.message_passing.retries import Retries
from bnnbench.methods.message_passing.schedule import Schedule, Sequential, published_step
from bnnbench.methods.message_passing.state import AS_MARGINALS, Storage, Tally
from bnnbench.methods.message_passing.stored import Stored
from bnnbench.methods.message_passing.straight import StraightVisits


class Trainer:
    """Members (fits of equal shape), trained in lockstep on batches of their own rows.

    `inputs` and `targets` pool all members' data; `rows` gives each member's rows, which are cut
    into batches in this order. No member's numbers depend on the others.
    """

    def __init__(
        self,
        network: Network,
        head: Head,
        prior: Sequence[Weights],
        inputs: Shaped[Tensor, "pool *features"],
        targets: Shaped[Tensor, "pool *target"],
        rows: Int[Tensor, "members points"],
        batch_size: int,
        schedule: Schedule,
        storage: Storage = AS_MARGINALS,
    ) -> None:
        self.network, self.head, self.schedule = network, head, schedule
        self.inputs, self.targets = inputs, targets
        self.batches = rows.split(batch_size, dim=1)
        self.stored = Stored(prior, head.prior, len(self.batches), storage)
        watched = rows[:, :: -(-rows.shape[1] // WATCHED)]
        self.watch = Watch(network, head, _rows(inputs, watched), _rows(targets, watched))
        self.tally = Tally.of(len(rows), inputs.device)
        self.retries = Retries(network, head, self.watch, self.tally)
        self.straight: StraightVisits | None = None
        if network.kernels.FUSED and len(rows) == 1 and not isinstance(schedule, Sequential):
            self.straight = StraightVisits(network, head, prior, self.watch)
        self.loss = torch.zeros(len(rows), dtype=torch.float64, device=inputs.device)
        """The loss summed over examples, in the last iteration of each visit of this epoch."""

    def state(self) -> dict[str, Any]:
        """Return everything that epochs change, for checkpoints."""
        members = [self.retries.lost, self.retries.calm]
        return {**self.stored.state(), "tally": vars(self.tally), "members": members}

    def resume(self, state: dict[str, Any]) -> None:
        """Restore a value returned by `state`."""
        self.stored.resume(state)
        vars(self.tally).update(state["tally"])
        self.retries.lost, self.retries.calm = state["members"]

    def epoch(self, number: int, iterations: int, rngs: Sequence[Generator]) -> float:
        """Visit every batch once; return the mean loss per example of members not lost.

        Epochs count from 1. The order of batches depends only on the epoch, as in the published
        code; each member has its own rows in a batch, in its own order.
        """
        self.loss.zero_()
        self.retries.begin_epoch()
        self.watch.expected = None  # unknown after resuming from a checkpoint, too
        turns = torch.Generator().manual_seed(number)
        for batch in torch.randperm(len(self.batches), generator=turns).tolist():
            size = self.batches[batch].shape[1]
            order = torch.stack([torch.randperm(size, generator=r, device=r.device) for r in rngs])
            self.visit(batch, order, iterations, published_step(number))
        self.stored.recompute()
        points = sum(batch.shape[1] for batch in self.batches)
        losses = self.loss[~self.retries.lost]
        return float(losses.mean()) / points if len(losses) else float("nan")

    def visit(
        self, batch: int, order: Int[Tensor, "members examples"], iterations: int, step: float
    ) -> None:
        """Pass the messages of a batch again, with its examples in this order.

        The stored aggregate moves `step` of the way to the new one.
        """
        stored, old, visited = self.stored, self.stored.aggregate(batch), None
        examples = self._examples(batch, order, iterations)
        watched = self._begin_watch(old, iterations)
        if self.straight and self.retries.all_sound:
            marginal, tally = stored.marginal, self.tally
            visited = self.straight.visit(self.schedule, marginal, examples, old, watched, tally)
        if visited is None:
            cavity = stored.cavity(old, self.tally.clamped)
            before = old, stored.last_noise(batch)
            visited = self.retries.visit(self.schedule, cavity, examples, before, watched)
        stored.put(batch, old, visited, step)
        self.loss += visited.loss

    def drop_hopeless(self) -> None:
        """Mark as lost the members whose predictions are hopeless."""
        self.retries.lost |= self.watch.hopeless(self.stored.marginal, self.stored.noise)

    def diagnostics(self, member: int) -> dict[str, float]:
        """Return the counts of a member's fit, and the median precisions of its weights."""
        tally = self.tally
        sent = max(1, int(tally.forwards[member]))
        diagnostics = {
            "serial_steps": float(tally.serial_steps[member]),
            "guard_events": float(tally.guard_events[member]),
            "clamped_precisions": float(tally.clamped[member]),
            "replaced_forward_share": float(tally.replaced[member]) / sent,
            "replaced_backward_share": float(tally.floored[member]) / sent,
        }
        for layer, weights in enumerate(self.stored.marginal, 1):
            diagnostics[f"median_precision_{layer}"] = float(weights.weight.rho[member].median())
        if self.stored.noise is not None:
            shape, rate = self.stored.noise[member].unbind(-1)
            diagnostics["noise_std"] = float((rate / shape).mean().sqrt())
        return diagnostics

    def _examples(self, batch: int, order: Tensor, iterations: int) -> Examples:
        """Return a batch's examples in this order."""
        rows = self.batches[batch].gather(1, order)
        inputs, targets = _rows(self.inputs, rows), _rows(self.targets, rows)
        return Examples(inputs, targets, self.stored.noise_without(batch), iterations)

    def _begin_watch(self, old: list[Weights] | None, iterations: int) -> bool:
        """Return whether the visit of a batch with the aggregate `old` is watched.

        A first visit has no fallback; visits of one iteration have never been seen to fail this
        way.
        """
        if old is None or iterations == 1 or isinstance(self.schedule, Sequential):
            self.watch.expected = None
            return False
        self.watch.begin(self.stored.marginal, self.stored.noise)
        return True


def _rows(pool: Tensor, rows: Tensor) -> Tensor:
    """Return `pool[rows]`; images are channels-last in memory and of one member only."""
    values = pool.index_select(0, rows.flatten())
    if values.dim() == 4:
        values = values.contiguous(memory_format=torch.channels_last)
    return values.unflatten(0, rows.shape)
