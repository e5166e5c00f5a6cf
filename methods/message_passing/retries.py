"""Failed visits, which have no effect but a count, repeated with calmer schedules.

A visit fails if (1) its messages are unsound, or its examples' predictions, before they send, are
hopeless; or if (2) a member then predicts examples of other batches clearly worse than before. If
no calmer schedule helps, a visit that failed by (2) leaves the batch's old aggregate; one that
failed by (1) ends with the published schedule, whose predictions are not judged. If even its
messages are unsound, or the last epoch ends with hopeless predictions, the member is lost.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bnnbench.methods.message_passing.guard import Watch, is_hopeless, sound_messages
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network, members, with_members
from bnnbench.methods.message_passing.passing import Examples, Visited, joined, rounds
from bnnbench.methods.message_passing.schedule import Schedule, Sequential, calmer
from bnnbench.methods.message_passing.state import Tally, mapped


@dataclass(frozen=True)
class Attempt:
    """The outcome of a visit for some members."""

    aggregates: list[Weights]
    noise: Noise | None
    sound: Bool[Tensor, " members"]
    """Members with sound messages whose predictions before sending were not hopeless."""
    loss: Float[Tensor, " members"]


class Retries:
    """Visits that a guard checks, and repeats with calmer schedules for members that failed."""

    def __init__(self, network: Network, head: Head, watch: Watch, tally: Tally) -> None:
        self.network, self.head, self.watch, self.tally = network, head, watch, tally
        self.lost = torch.zeros_like(tally.guard_events, dtype=torch.bool)
        """Members whose fit was abandoned; they retain their last state."""
        self.calm = torch.zeros_like(tally.guard_events)
        """The index of each member's next schedule in the list of increasingly calm schedules."""
        self.all_sound = True
        """True if no member is lost or due for a calmer schedule."""

    def begin_epoch(self) -> None:
        """Let every member start one schedule less calm."""
        self.calm = (self.calm - 1).clamp_min(0)
        self._update_all_sound()

    def visit(
        self,
        schedule: Schedule,
        cavity: list[Weights],
        examples: Examples,
        old: tuple[list[Weights] | None, Noise | None],
        watched: bool,
    ) -> Visited:
        """Return a visit with the first schedule, or with a calmer one for members that fail.

        Later visits of the epoch begin with that schedule. Members for which every schedule fails
        retain `old`, the batch's aggregates and its increments of the noise.
        """
        accepted = _Accepted(cavity, *old, members=len(self.lost))
        schedules = (schedule, *calmer(schedule))
        remaining = (~self.lost).nonzero().squeeze(1)
        for level, tried_schedule in enumerate(schedules):
            index = remaining[self.calm[remaining] <= level]
            if not len(index):
                continue
            tried = self._attempt(tried_schedule, cavity, examples, index)
            sound = tried.sound & ~self._worse(tried_schedule, tried, examples, index, watched)
            accepted.add(tried, index, sound)
            self.tally.guard_events[index[~sound]] += 1
            self.calm[index[~sound]] = level + 1
            if level + 2 == len(schedules):
                self.calm[index[tried.sound & ~sound]] = level
            remaining = remaining[self.calm[remaining] > level]
        self.lost[remaining] = True
        self._update_all_sound()
        return accepted.visited()

    def _attempt(
        self, schedule: Schedule, cavity: list[Weights], examples: Examples, index: Tensor
    ) -> Attempt:
        """Pass the messages of some members; their weights remain in the network."""
        head, examples = self.head.of_members(index), examples.of_members(index)
        visit = examples.visit(schedule)
        sound = torch.ones_like(index, dtype=torch.bool)
        loss = torch.zeros_like(index, dtype=torch.float64)
        aggregates: list[Weights] = []
        of_members = list(members(cavity, index))
        for outputs, latest in rounds(self.network, head, of_members, examples, visit):
            aggregates = latest
            if visit.is_last:
                z = joined(outputs)
                loss += head.loss(z, slice(None))
                if not isinstance(schedule, Sequential):
                    sound &= ~is_hopeless(head, z, loss)
            sound &= sound_messages(self.network, visit)
            self.tally.add(visit, index)
            if not sound.any():
                break
        return Attempt(aggregates, head.added(), sound, loss)

    def _worse(
        self, schedule: Schedule, tried: Attempt, examples: Examples, index: Tensor, watched: bool
    ) -> Bool[Tensor, " members"]:
        """Return which members of a watched visit predict other batches worse than before."""
        if not watched or isinstance(schedule, Sequential):
            return torch.zeros_like(tried.sound)
        noise = examples.of_members(index).noise_with(tried.noise)
        return self.watch.worse(index, noise, tried.sound)

    def _update_all_sound(self) -> None:
        self.all_sound = not bool((self.lost | (self.calm > 0)).any())


class _Accepted:
    """The outcomes of the attempts that passed; the old messages for all other members."""

    def __init__(
        self, cavity: list[Weights], old: list[Weights] | None, noise: Noise | None, members: int
    ) -> None:
        self._cavity, self._old = cavity, old
        self._aggregates: list[Weights] | None = None
        self._noise = None if noise is None else noise.clone()
        self._loss = cavity[0].weight.rho.new_zeros(members, dtype=torch.float64)

    def add(self, tried: Attempt, index: Tensor, sound: Bool[Tensor, " some"]) -> None:
        """Accept the members of an attempt that are sound."""
        good, aggregates = index[sound], list(members(tried.aggregates, sound.nonzero().squeeze(1)))
        if len(good) == len(self._loss):
            self._aggregates = aggregates
        else:
            self._aggregates = self._aggregates or self._old_aggregates()
            with_members(self._aggregates, good, aggregates)
        if self._noise is not None and tried.noise is not None:
            self._noise[good] = tried.noise[sound]
        self._loss[good] = tried.loss[sound]

    def visited(self) -> Visited:
        """Return the outcome of all members."""
        aggregates = self._aggregates or self._old_aggregates()
        return Visited(self._cavity, aggregates, self._noise, self._loss)

    def _old_aggregates(self) -> list[Weights]:
        """Return a copy of the old aggregates; uniform messages before the first visit."""
        if self._old is None:
            return [mapped(layer, torch.zeros_like) for layer in self._cavity]
        return [mapped(layer, torch.clone) for layer in self._old]
