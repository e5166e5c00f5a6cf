"""The stored messages of every batch, and the marginals, which contain each exactly once."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.heads import Noise
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.passing import Visited
from bnnbench.methods.message_passing.state import (
    LEAST_SHARE,
    Storage,
    converted,
    damped,
    from_numbers,
    numbers,
    products,
    quotients,
)


class Stored:
    """Marginals of weights and noise: the prior times the stored message of every batch."""

    def __init__(
        self, prior: Sequence[Weights], noise: Noise | None, batches: int, storage: Storage
    ) -> None:
        self.prior, self.storage = list(prior), storage
        self.marginal = [converted(layer, None, None, copy=True) for layer in prior]
        self.aggregates: list[list[Weights] | None] = [None] * batches
        self.noise: Noise | None = None if noise is None else noise.clone()
        self.noise_added: list[Noise | None] = [None] * batches

    def state(self) -> dict[str, Any]:
        """Return everything that visits change, for checkpoints."""
        return {
            "marginal": numbers(self.marginal),
            "aggregates": [each and numbers(each) for each in self.aggregates],
            "noise": [self.noise, *self.noise_added],
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Restore a value returned by `state`."""
        self.marginal = from_numbers(state["marginal"])
        self.aggregates = [each and from_numbers(each) for each in state["aggregates"]]
        self.noise, *self.noise_added = state["noise"]

    def aggregate(self, batch: int) -> list[Weights] | None:
        """Return a batch's aggregate as the marginals' type; None before its first visit."""
        aggregate = self.aggregates[batch]
        return aggregate and [self._as_marginals(layer) for layer in aggregate]

    def cavity(self, old: list[Weights] | None, clamped: Tensor) -> list[Weights]:
        """Return the marginals without an aggregate; adds floored precisions to `clamped`."""
        if old is None:
            return self.marginal
        cavity = []
        for rest, prior in zip(quotients(self.marginal, old), self.prior, strict=True):
            parts = []
            for part, least in zip(rest.parts(), prior.parts(), strict=True):
                floor = LEAST_SHARE * least.rho
                clamped += (part.rho < floor).flatten(1).sum(1)
                parts.append(Gaussian(part.tau, part.rho.maximum(floor)))
            cavity.append(Weights(*parts) if len(parts) == 2 else Weights(parts[0], None))
        return cavity

    def put(self, batch: int, old: list[Weights] | None, visited: Visited, step: float) -> None:
        """Store aggregates `step` of the way from the old to the new, and update the marginals."""
        aggregate = [self.storage.put(layer) for layer in damped(old, visited.aggregates, step)]
        self.aggregates[batch] = aggregate
        self.marginal = products(visited.cavity, [self._as_marginals(layer) for layer in aggregate])
        noise, before = self.noise, self.last_noise(batch)
        if noise is not None and before is not None and visited.noise is not None:
            now = torch.lerp(before, visited.noise, step)
            self.noise_added[batch], self.noise = now, noise + now - before

    def last_noise(self, batch: int) -> Noise | None:
        """Return a batch's last increments of the noise; 0 before its first visit."""
        if self.noise is None:
            return None
        added = self.noise_added[batch]
        return torch.zeros_like(self.noise) if added is None else added

    def noise_without(self, batch: int) -> Noise | None:
        """Return shape and rate of the noise given the prior and the other batches."""
        added = self.noise_added[batch]
        return self.noise if self.noise is None or added is None else self.noise - added

    def recompute(self) -> None:
        """Recompute the marginals from prior and aggregates, in float64."""
        for layer, prior in enumerate(self.prior):
            total = converted(prior, torch.float64, None)
            for aggregate in self.aggregates:
                if aggregate is not None:
                    rho = total.weight.rho
                    total = total * converted(aggregate[layer], rho.dtype, str(rho.device))
            self.marginal[layer] = converted(total, prior.weight.rho.dtype, None)

    def _as_marginals(self, layer: Weights) -> Weights:
        rho = self.prior[0].weight.rho
        return converted(layer, rho.dtype, str(rho.device))
