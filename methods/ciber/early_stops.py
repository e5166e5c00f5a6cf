"""The last iterates of several descents side by side, each up to its own early stop."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.trajectory.collector import Descent, follow, validation_losses
from bnnbench.methods.trajectory.schedules import EarlyStop, Plateau


def last_iterates(
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    descent: Descent,
    samples: int | None,
    validation: Sequence[Split],
) -> list[NetworkPosterior]:
    """Return each problem's `samples` last recorded iterates (or all), as an equal-weight mixture.

    They equal those of separate descents. `validation` are the rows that each descent holds out.
    """
    iterates = _Kept(descent, samples, validation)
    stack = follow(problems, rngs, _without_stops(descent), iterates)
    return [iterates.stopped.get(m) or iterates.mixture(stack, m) for m in range(len(problems))]


def _without_stops(descent: Descent) -> Descent:
    """Return the descent to its last epoch, with an iterate after every epoch."""
    if not descent.stops_early:
        return descent
    assert isinstance(descent.schedule, Plateau)
    return replace(
        descent, start=0.0, every=1, schedule=replace(descent.schedule, early_stop=False)
    )


class _Kept:
    """The iterates of all members so far, and the mixtures of those that have stopped."""

    def __init__(self, descent: Descent, samples: int | None, validation: Sequence[Split]) -> None:
        self._descent, self._validation = descent, validation
        self._iterates: deque[tuple[Tensor, Tensor]] = deque(maxlen=samples)
        self._rules: list[EarlyStop] = []
        if descent.stops_early:
            assert isinstance(descent.schedule, Plateau)
            patience = descent.schedule.patience
            self._rules = [EarlyStop(patience, descent.epochs) for _ in validation]
        self.stopped: dict[int, NetworkPosterior] = {}

    def __call__(self, stack: Stack) -> None:
        """Record an iterate after an epoch, and the mixtures of members that stop there."""
        done = stack.steps // len(stack.batches)
        if self._descent.keeps(done):
            self._iterates.append((stack.weights.detach().clone(), stack.buffers.clone()))
        if not self._rules:
            return
        losses = validation_losses(stack, self._validation).tolist()
        for m, (rule, loss) in enumerate(zip(self._rules, losses, strict=True)):
            if rule.ends(done, loss) and m not in self.stopped:
                self.stopped[m] = self.mixture(stack, m)

    def mixture(self, stack: Stack, member: int) -> NetworkPosterior:
        """Return the mixture of a member's recorded iterates."""
        weights, buffers = (
            torch.stack([each[member] for each in of_all]).detach()
            for of_all in zip(*self._iterates, strict=True)
        )
        return replace(stack.posterior(member), weights=weights, buffers=buffers)
