"""Visits of one member with a single read by the host, at the end.

A visit divides the batch's aggregate out of the marginals, runs its rounds, and sets a flag on
the device that says whether all succeeded. The caller reads the flag and repeats a failed visit
by the general path (trainer.py). Operations on all layers at once are one library call each. On a
GPU, rounds are captured and replayed (captured.py).
"""

# pyright: reportPrivateImportUsage=false
# Torch exports its multi-tensor functions only under private names.
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bnnbench.methods.message_passing.captured import CapturedRounds
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.guard import MOST_REPLACED, Watch, is_hopeless
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.schedule import Schedule
from bnnbench.methods.message_passing.state import LEAST_SHARE, arranged, numbers_of


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


@dataclass(frozen=True)
class Visited:
    """The outcome of a visit; the host knows only numbers that follow from shapes."""

    aggregates: list[Weights]
    noise: Noise | None
    sound: Bool[Tensor, " members"]
    loss: Float[Tensor, " members"]
    counters: Int[Tensor, "2 members"]
    sent: int
    serial_steps: int


class StraightVisits:
    """Visits of one member's batches, one after another."""

    def __init__(
        self, network: Network, head: Head, prior: Sequence[Weights], watch: Watch
    ) -> None:
        self.network, self.head, self.watch = network, head, watch
        self._floors = [LEAST_SHARE * part.rho for layer in prior for part in layer.parts()]
        device = prior[0].weight.rho.device
        self._captured = CapturedRounds(network, head) if device.type == "cuda" else None

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

    def visit(
        self,
        cavity: list[Weights],
        inputs: Tensor,
        targets: Tensor,
        rest: Noise | None,
        schedule: Schedule,
        iterations: int,
    ) -> Visited:
        """Pass the messages of a batch; `rest` is the noise without the batch's increments."""
        visit = Visit(schedule, 1, inputs.shape[1], iterations)
        if self._captured and rest is None:
            rounds = self._captured.rounds(cavity, inputs, targets, visit, self._open, self._round)
        else:
            self._open(cavity, targets, rest, visit)
            rounds = [self._round(inputs, visit, number) for number in range(iterations)]
        last = rounds[-1]
        assert last.aggregates is not None
        assert last.loss is not None
        return Visited(
            last.aggregates,
            last.noise,
            torch.stack([each.sound for each in rounds]).all(0),
            last.loss,
            torch.stack([each.counters for each in rounds]).sum(0),
            visit.sent * iterations,
            visit.groups * iterations,
        )

    def damped(self, old: list[Weights] | None, new: list[Weights], step: float) -> list[Weights]:
        """Return aggregates moved `step` of the way from the old ones to the new."""
        if old is not None:
            return arranged(new, torch._foreach_lerp(numbers_of(old), numbers_of(new), step))
        return arranged(new, torch._foreach_mul(numbers_of(new), step))  # a graph overwrites `new`

    def _open(
        self, cavity: list[Weights], targets: Tensor, rest: Noise | None, visit: Visit
    ) -> None:
        self.network.start_from(cavity)
        self.network.open(visit)
        self.head.open(targets, rest, self.network.kernels)

    def _round(self, inputs: Tensor, visit: Visit, number: int) -> Round:
        visit.start(number)
        outputs = []
        for group in range(visit.groups):
            visit.group = group
            z, residues = self.network.forward(inputs[:, visit.rows], visit)
            outputs.append(z)
            self.network.backward(residues, self.head.message(z, visit.rows), visit)
        aggregates = self._refresh(visit)
        sound, counters = self._is_sound(), visit.counters
        if counters is None:
            counters = torch.zeros(2, 1, dtype=torch.int64, device=inputs.device)
        else:
            sound = sound & (counters[0] <= MOST_REPLACED * visit.sent)
        marginals = [layer.marginal for layer in self.network.weighted]
        if not visit.is_last:
            return Round(sound, counters, marginals, None, None, None)
        z = Gaussian(*(torch.cat([getattr(z, n) for z in outputs], 1) for n in ("tau", "rho")))
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


def products(left: Sequence[Weights], right: Sequence[Weights]) -> list[Weights]:
    """Return the products of all layers' messages."""
    return arranged(left, torch._foreach_add(numbers_of(left), numbers_of(right)))


def quotients(left: Sequence[Weights], right: Sequence[Weights]) -> list[Weights]:
    """Return the quotients of all layers' messages."""
    return arranged(left, torch._foreach_sub(numbers_of(left), numbers_of(right)))
