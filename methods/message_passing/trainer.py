"""Batches visited in turn, each of them counted exactly once.

The marginal of every weight is its prior times the stored message of every batch, its aggregate.
A visit divides out the batch's aggregate, passes messages again, and multiplies in the new one.
Source: paper 000, section 4.

A guard (guard.py) discards failed visits and repeats them with calmer schedules. A visit fails if
(1) its messages are unsound, or its examples' predictions, before they send, are hopeless; or if
(2) a member then predicts examples of other batches clearly worse than before. If no calmer
schedule helps, a visit that failed by (2) leaves the batch's old aggregate; one that failed by (1)
ends with the published schedule, whose predictions are not judged. If even its messages are
unsound, or the last epoch ends with hopeless predictions, the member is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Generator, Tensor

from bnnbench.methods.fitting import work
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.guard import WATCHED, Watch, is_hopeless, sound_messages
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network, members, with_members
from bnnbench.methods.message_passing.schedule import Schedule, Sequential, calmer, published_step
from bnnbench.methods.message_passing.state import (
    AS_MARGINALS,
    LEAST_SHARE,
    Storage,
    Tally,
    converted,
    from_numbers,
    mapped,
    numbers,
)
from bnnbench.methods.message_passing.straight import StraightVisits, products


@dataclass(frozen=True)
class Attempt:
    """The outcome of a visit for some members."""

    aggregates: list[Weights]
    noise: Noise | None
    """The increments that the batch adds to shape and rate of the noise."""
    sound: Bool[Tensor, " members"]
    """Members with sound messages whose predictions before sending were not hopeless."""
    loss: Float[Tensor, " members"]
    """The loss summed over examples in the last iteration."""


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
        self.network, self.head, self.schedule, self.storage = network, head, schedule, storage
        self.prior = list(prior)
        self.marginal = [converted(layer, None, None, copy=True) for layer in prior]
        self.inputs, self.targets = inputs, targets
        self.batches = rows.split(batch_size, dim=1)
        watched = rows[:, :: -(-rows.shape[1] // WATCHED)]
        self.watch = Watch(network, head, _rows(inputs, watched), _rows(targets, watched))
        self.aggregates: list[list[Weights] | None] = [None] * len(self.batches)
        self.noise: Noise | None = None if head.prior is None else head.prior.clone()
        self.noise_added: list[Noise | None] = [None] * len(self.batches)
        self.tally = Tally.of(len(rows), inputs.device)
        self.lost = torch.zeros(len(rows), dtype=torch.bool, device=inputs.device)
        """Members whose fit was abandoned; they retain their last state."""
        self.calm = torch.zeros(len(rows), dtype=torch.int64, device=inputs.device)
        """The index of each member's next schedule in the list of increasingly calm schedules."""
        self.all_sound = True
        """True if no member is lost or due for a calmer schedule."""
        self.straight: StraightVisits | None = None
        if network.kernels.FUSED and len(rows) == 1 and not isinstance(schedule, Sequential):
            self.straight = StraightVisits(network, head, self.prior, self.watch)
        self.loss = torch.zeros(len(rows), dtype=torch.float64, device=inputs.device)
        """The loss summed over examples, in the last iteration of each visit of this epoch."""

    def state(self) -> dict[str, Any]:
        """Return everything that epochs change, for checkpoints."""
        return {
            "marginal": numbers(self.marginal),
            "aggregates": [each and numbers(each) for each in self.aggregates],
            "noise": [self.noise, *self.noise_added],
            "tally": vars(self.tally),
            "members": [self.lost, self.calm],
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Restore a value returned by `state`."""
        self.marginal = from_numbers(state["marginal"])
        self.aggregates = [each and from_numbers(each) for each in state["aggregates"]]
        self.noise, *self.noise_added = state["noise"]
        self.tally = Tally(**state["tally"])
        self.lost, self.calm = state["members"]

    def epoch(self, number: int, iterations: int, rngs: Sequence[Generator]) -> float:
        """Visit every batch once; return the mean loss per example of members not lost.

        Epochs count from 1. The order of batches depends only on the epoch, as in the published
        code; each member has its own rows in a batch, in its own order.
        """
        self.loss.zero_()
        self.calm = (self.calm - 1).clamp_min(0)
        self.all_sound = self._all_sound()
        self.watch.expected = None  # unknown after resuming from a checkpoint, too
        turns = torch.Generator().manual_seed(number)
        for batch in torch.randperm(len(self.batches), generator=turns).tolist():
            size = self.batches[batch].shape[1]
            order = torch.stack([torch.randperm(size, generator=r, device=r.device) for r in rngs])
            self.visit(batch, order, iterations, published_step(number))
        self.recompute()
        points = sum(batch.shape[1] for batch in self.batches)
        losses = self.loss[~self.lost]
        return float(losses.mean()) / points if len(losses) else float("nan")

    def visit(
        self, batch: int, order: Int[Tensor, "members examples"], iterations: int, step: float
    ) -> None:
        """Pass the messages of a batch again, with its examples in this order.

        The stored aggregate moves `step` of the way to the new one. A failed visit has no effect
        but a count, and is repeated with calmer schedules, with which the epoch's later visits then
        begin. If all schedules fail for a member, it retains the batch's old aggregate if its
        messages are sound, and is lost otherwise.
        """
        old = self.aggregates[batch]
        watched = self._begin_watch(old, iterations)
        if (
            self.straight
            and self.all_sound
            and self._visited_straight(self.straight, batch, order, iterations, step, watched)
        ):
            return
        cavity = self._cavity(old)
        new: list[Weights] | None = None
        added = self._noise_like(batch)
        schedules = (self.schedule, *calmer(self.schedule))
        remaining = (~self.lost).nonzero().squeeze(1)
        for level, schedule in enumerate(schedules):
            calm_members = remaining[self.calm[remaining] <= level]
            if not len(calm_members):
                continue
            cavity_of_members = list(members(cavity, calm_members))
            tried = self._attempt(
                cavity_of_members, calm_members, batch, order, iterations, schedule
            )
            sound = tried.sound
            if watched and not isinstance(schedule, Sequential):
                sound = sound & ~self.watch.worse(
                    calm_members, self._known(tried, calm_members, batch), sound
                )
            good, rows = calm_members[sound], sound.nonzero().squeeze(1)
            aggregates = list(members(tried.aggregates, rows))
            if len(good) == len(self.lost):
                new = aggregates
            else:
                new = new or self._room_filled(old, cavity)
                with_members(new, good, aggregates)
            if added is not None and tried.noise is not None:
                added[good] = tried.noise[sound]
            self.loss[good] += tried.loss[sound]
            self.tally.guard_events[calm_members[~sound]] += 1
            self.calm[calm_members[~sound]] = level + 1
            if level + 2 == len(schedules):
                self.calm[calm_members[tried.sound & ~sound]] = level
            remaining = remaining[self.calm[remaining] > level]
        self.lost[remaining] = True
        self._store(batch, cavity, old, new or self._room_filled(old, cavity), added, step)
        self.all_sound = self._all_sound()

    def _visited_straight(
        self,
        straight: StraightVisits,
        batch: int,
        order: Tensor,
        iterations: int,
        step: float,
        watched: bool,
    ) -> bool:
        """Return whether a visit with a single host read succeeded; a failed one has no effect."""
        rows = self.batches[batch].gather(1, order)
        inputs, targets = _rows(self.inputs, rows), _rows(self.targets, rows)
        old, rest = self.aggregates[batch], self._noise_without(batch)
        if old is not None:
            old = [converted(layer, self.inputs.dtype, self._device) for layer in old]
        cavity, clamped = straight.cavity(self.marginal, old)
        done = straight.visit(cavity, inputs, targets, rest, self.schedule, iterations)
        sound = done.sound
        if watched:
            index = torch.zeros(1, dtype=torch.int64, device=inputs.device)
            noise = None if rest is None or done.noise is None else rest + done.noise
            sound = sound & ~self.watch.worse(index, noise, sound)
        work.count("message_rows", inputs.shape[1] * iterations)
        if not bool(sound):
            return False
        self.loss += done.loss
        self.tally.clamped += clamped
        self.tally.replaced += done.counters[0]
        self.tally.floored += done.counters[1]
        self.tally.forwards += done.sent
        self.tally.serial_steps += done.serial_steps
        target = straight.damped(old, done.aggregates, step)
        stored = [self.storage.put(layer) for layer in target]
        self.aggregates[batch] = stored
        self.marginal = products(
            cavity, [converted(layer, self.inputs.dtype, self._device) for layer in stored]
        )
        self._store_noise(batch, done.noise, step)
        return True

    def _all_sound(self) -> bool:
        return not bool((self.lost | (self.calm > 0)).any())

    def recompute(self) -> None:
        """Recompute the marginals from prior and aggregates, in float64."""
        for layer, prior in enumerate(self.prior):
            total = converted(prior, torch.float64, None)
            for aggregate in self.aggregates:
                if aggregate is not None:
                    rho = total.weight.rho
                    total = total * converted(aggregate[layer], rho.dtype, str(rho.device))
            self.marginal[layer] = converted(total, prior.weight.rho.dtype, None)

    def drop_hopeless(self) -> None:
        """Mark as lost the members whose predictions are hopeless."""
        self.lost |= self.watch.hopeless(self.marginal, self.noise)

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
        for layer, weights in enumerate(self.marginal, 1):
            diagnostics[f"median_precision_{layer}"] = float(weights.weight.rho[member].median())
        if self.noise is not None:
            diagnostics["noise_std"] = float(
                (self.noise[member, :, 1] / self.noise[member, :, 0]).mean().sqrt()
            )
        return diagnostics

    def _cavity(self, old: list[Weights] | None) -> list[Weights]:
        """Return the marginals without a batch's aggregate."""
        if old is None:
            return self.marginal
        cavity = []
        for marginal, prior, aggregate in zip(self.marginal, self.prior, old, strict=True):
            rest = marginal / converted(aggregate, marginal.weight.rho.dtype, self._device)
            parts = []
            for part, least in zip(rest.parts(), prior.parts(), strict=True):
                floor = LEAST_SHARE * least.rho
                self.tally.clamped += (part.rho < floor).flatten(1).sum(1)
                parts.append(Gaussian(part.tau, part.rho.maximum(floor)))
            cavity.append(Weights(*parts) if len(parts) == 2 else Weights(parts[0], None))
        return cavity

    def _room_filled(self, old: list[Weights] | None, cavity: list[Weights]) -> list[Weights]:
        """Return buffers for new aggregates, filled with the old ones, which lost members keep."""
        if old is None:
            return [mapped(layer, torch.zeros_like) for layer in cavity]
        dtype = cavity[0].weight.rho.dtype
        return [converted(layer, dtype, self._device, copy=True) for layer in old]

    def _noise_like(self, batch: int) -> Noise | None:
        """Return a copy of a batch's last increments of the noise; 0 before its first visit."""
        old = self.noise_added[batch]
        if old is not None:
            return old.clone()
        return None if self.noise is None else torch.zeros_like(self.noise)

    def _noise_without(self, batch: int) -> Noise | None:
        """Return shape and rate of the noise given the prior and the other batches."""
        added = self.noise_added[batch]
        return self.noise if self.noise is None or added is None else self.noise - added

    def _known(self, tried: Attempt, index: Tensor, batch: int) -> Noise | None:
        """Return shape and rate of some members' noise after they visited a batch."""
        rest = self._noise_without(batch)
        return None if rest is None or tried.noise is None else rest[index] + tried.noise

    def _begin_watch(self, old: list[Weights] | None, iterations: int) -> bool:
        """Return whether the visit of a batch with the aggregate `old` is watched.

        A first visit has no fallback; visits of one iteration have never been seen to fail this
        way.
        """
        if old is None or iterations == 1 or isinstance(self.schedule, Sequential):
            self.watch.expected = None
            return False
        self.watch.begin(self.marginal, self.noise)
        return True

    def _attempt(
        self,
        cavity: list[Weights],
        index: Tensor,
        batch: int,
        order: Tensor,
        iterations: int,
        schedule: Schedule,
    ) -> Attempt:
        """Pass the messages of some members; their weights remain in the network."""
        visit = Visit(schedule, len(index), order.shape[1], iterations)
        rows = self.batches[batch][index].gather(1, order[index])
        inputs, targets = _rows(self.inputs, rows), _rows(self.targets, rows)
        head = self.head.of_members(index)
        noise_without_batch = self._noise_without(batch)
        noise_without_batch = None if noise_without_batch is None else noise_without_batch[index]
        self.network.start_from(cavity)
        self.network.open(visit)
        head.open(targets, noise_without_batch, self.network.kernels)
        sound = torch.ones_like(index, dtype=torch.bool)
        loss = self.loss.new_zeros(len(index))
        aggregates: list[Weights] = []
        for iteration in range(iterations):
            visit.start(iteration)
            outputs = []
            for group in range(visit.groups):
                visit.group = group
                z, residues = self.network.forward(inputs[:, visit.rows], visit)
                outputs.append(z)
                self.network.backward(residues, head.message(z, visit.rows), visit)
            if visit.is_last:
                z = _joined(outputs)
                loss += head.loss(z, slice(None))
                if not isinstance(schedule, Sequential):
                    sound &= ~is_hopeless(head, z, loss)
            aggregates = [layer.refresh() for layer in self.network.weighted]
            sound &= sound_messages(self.network, visit)
            self._count(visit, index)
            work.count("message_rows", inputs.shape[0] * inputs.shape[1])
            if not sound.any():
                break
        return Attempt(aggregates, head.added(), sound, loss)

    def _count(self, visit: Visit, index: Tensor) -> None:
        self.tally.serial_steps[index] += visit.groups
        self.tally.forwards[index] += visit.sent
        for tally, counts in (
            (self.tally.replaced, visit.replaced),
            (self.tally.floored, visit.floored),
        ):
            if counts is not None:
                tally[index] += counts

    def _store(
        self,
        batch: int,
        cavity: list[Weights],
        old: list[Weights] | None,
        new: list[Weights],
        added: Noise | None,
        step: float,
    ) -> None:
        """Store the damped aggregates, and multiply the stored values into the marginals."""
        stored = []
        for layer, (rest, target) in enumerate(zip(cavity, new, strict=True)):
            dtype = rest.weight.rho.dtype
            if old is not None:
                target = converted(old[layer], dtype, self._device).moved(target, step)
            elif step != 1:
                target = mapped(target, lambda x: step * x)
            stored.append(self.storage.put(target))
            self.marginal[layer] = rest * converted(stored[layer], dtype, self._device)
        self.aggregates[batch] = stored
        self._store_noise(batch, added, step)

    def _store_noise(self, batch: int, added: Noise | None, step: float) -> None:
        """Move a batch's stored increments of the noise `step` of the way to the new ones."""
        if self.noise is None or added is None:
            return
        before = self.noise_added[batch]
        before = torch.zeros_like(added) if before is None else before
        now = torch.lerp(before, added, step)
        self.noise_added[batch], self.noise = now, self.noise + now - before

    @property
    def _device(self) -> str:
        return str(self.inputs.device)


def _rows(pool: Tensor, rows: Tensor) -> Tensor:
    """Return `pool[rows]`; images are channels-last in memory and of one member only."""
    values = pool.index_select(0, rows.flatten())
    if values.dim() == 4:
        values = values.contiguous(memory_format=torch.channels_last)
    return values.unflatten(0, rows.shape)


def _joined(groups: Sequence[Gaussian]) -> Gaussian:
    """Return the messages of all groups' examples."""
    tau, rho = (torch.cat([getattr(z, name) for z in groups], 1) for name in ("tau", "rho"))
    return Gaussian(tau, rho)
