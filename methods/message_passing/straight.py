"""Visits of one member with a single read by the host, at the end.

A visit divides the batch's aggregate out of the marginals, runs its rounds, and sets a flag on
the device that says whether all succeeded. The flag is read once, and a failed visit is repeated
by the general path (retries.py). Operations on all layers at once are one library call each. On a
GPU, rounds are captured and replayed (captured.py).
"""

# pyright: reportPrivateImportUsage=false
# Torch exports its multi-tensor functions only under private names.
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bnnbench.methods.fitting import work
from bnnbench.methods.message_passing.captured import CapturedRounds
from bnnbench.methods.message_passing.guard import MOST_REPLACED, Watch, is_hopeless
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.passing import Examples, Visited, joined, pass_groups, start
from bnnbench.methods.message_passing.schedule import Schedule
from bnnbench.methods.message_passing.state import (
    LEAST_SHARE,
    Tally,
    arranged,
    products,
    quotients,
)


@dataclass(frozen=True)
class Round:
    """The outcome of a round, on the device."""

    sound: Bool[Tensor, " members"]
    counters: Int[Tensor, "2 members"]
    """Forward and backward messages that a guard replaced."""
    marginals: list[Weights]
    """The weights' marginals after the round, with which the network predicts."""
    aggregates: list[Weights] | None
    """The products of the visit's messages; None before the last round."""
    loss: Float[Tensor, " members"] | None
    noise: Noise | None

    def copied(self) -> "Round":
        """Return the outcome of a middle round in memory that no later round overwrites."""
        return replace(self, sound=self.sound.clone(), counters=self.counters.clone())


class StraightVisits:
    """Visits of one member's batches, one after another."""

    def __init__(
        self, network: Network, head: Head, prior: Sequence[Weights], watch: Watch
    ) -> None:
        self.network, self.head, self.watch = network, head, watch
        self._floors = [LEAST_SHARE * part.rho for layer in prior for part in layer.parts()]
        device = prior[0].weight.rho.device
        self._start = partial(start, network, head)
        self._captured = CapturedRounds(network, head) if device.type == "cuda" else None

    def visit(
        self,
        schedule: Schedule,
        marginal: list[Weights],
        examples: Examples,
        old: list[Weights] | None,
        watched: bool,
        tally: Tally,
    ) -> Visited | None:
        """Return a visit of a batch, with a single host read; None if it failed, without effect."""
        cavity, clamped = self.cavity(marginal, old)
        visit = examples.visit(schedule)
        rounds = self.rounds(cavity, examples, visit)
        last, sound = rounds[-1], torch.stack([each.sound for each in rounds]).all(0)
        if watched:
            index = torch.zeros(1, dtype=torch.int64, device=sound.device)
            sound = sound & ~self.watch.worse(index, examples.noise_with(last.noise), sound)
        work.count("message_rows", visit.examples * examples.iterations)
        if not bool(sound):
            return None
        replaced, floored = torch.stack([each.counters for each in rounds]).sum(0)
        tally.clamped += clamped
        tally.replaced += replaced
        tally.floored += floored
        tally.forwards += visit.sent * examples.iterations
        tally.serial_steps += visit.groups * examples.iterations
        assert last.aggregates is not None
        assert last.loss is not None
        return Visited(cavity, last.aggregates, last.noise, last.loss)

    def cavity(
        self, marginal: list[Weights], old: list[Weights] | None
    ) -> tuple[list[Weights], Int[Tensor, " members"]]:
        """Return marginals without an aggregate, and the number of floored precisions."""
        none = torch.zeros(1, dtype=torch.int64, device=marginal[0].weight.rho.device)
        if old is None:
            return marginal, none
        rest = quotients(marginal, old)
        precisions = [part.rho for layer in rest for part in layer.parts()]
        floored = torch._foreach_maximum(precisions, self._floors)
        raised = torch._foreach_sign(torch._foreach_sub(floored, precisions))
        count = torch.stack(torch._foreach_norm(raised, 1)).sum().long()
        taus = [part.tau for layer in rest for part in layer.parts()]
        pairs = zip(taus, floored, strict=True)
        return arranged(rest, [t for pair in pairs for t in pair]), count[None]

    def rounds(self, cavity: list[Weights], examples: Examples, visit: Visit) -> list[Round]:
        """Pass the messages of a batch without a host read."""
        inputs, targets, rest = examples.inputs, examples.targets, examples.noise
        if self._captured and rest is None:
            return self._captured.rounds(cavity, inputs, targets, visit, self._start, self._round)
        self._start(cavity, targets, rest, visit)
        return [self._round(inputs, visit, number) for number in range(examples.iterations)]

    def _round(self, inputs: Tensor, visit: Visit, number: int) -> Round:
        visit.start(number)
        outputs = pass_groups(self.network, self.head, inputs, visit)
        aggregates = self._refresh(visit)
        sound, counters = self._is_sound(), visit.counters
        if counters is None:
            counters = torch.zeros(2, 1, dtype=torch.int64, device=inputs.device)
        else:
            sound = sound & (counters[0] <= MOST_REPLACED * visit.sent)
        marginals = [layer.marginal for layer in self.network.weighted]
        if not visit.is_last:
            return Round(sound, counters, marginals, None, None, None)
        z = joined(outputs)
        loss = self.head.loss(z, slice(None))
        sound = sound & ~is_hopeless(self.head, z, loss)
        return Round(sound, counters, marginals, aggregates, loss, self.head.added())

    def _refresh(self, visit: Visit) -> list[Weights]:
        """Recompute the marginals, free of earlier rounding, and return the aggregates."""
        layers = self.network.weighted
        priors = [layer.prior for layer in layers]
        if visit.is_first:  # no rounding errors to remove
            return quotients([layer.marginal for layer in layers], priors) if visit.is_last else []
        totals = [layer.aggregate() for layer in layers]
        for layer, marginal in zip(layers, products(priors, totals), strict=True):
            layer.marginal = marginal
        return totals

    def _is_sound(self) -> Bool[Tensor, " members"]:
        """Return whether all marginals are finite, with positive precisions."""
        parts = [part for layer in self.network.weighted for part in layer.marginal.parts()]
        precisions = [part.rho for part in parts]
        numbers = [*(part.tau for part in parts), *precisions]
        largest = torch.stack(torch._foreach_norm(numbers, inf)).amax(0, keepdim=True)
        least = torch.stack(torch._foreach_max(torch._foreach_neg(precisions)))
        return (largest < inf) & (least.amax(0, keepdim=True) < 0)  # for NaN both are false
