"""Joint training of members that share their matrices."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.batch_ensemble.layout import Layout
from bnnbench.methods.checkpoints.parts import Part
from bnnbench.methods.fitting.common_variance import start_small
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.optimisers import Adam
from bnnbench.methods.fitting.randomness import Streams, spawn
from bnnbench.methods.fitting.training import Stack


class SharedMembers:
    """The trained numbers of each problem's members, and their update step.

    The stack has a network for each member; those of a problem have one stream, and so one order of
    the data. Each problem has the settings of its variant, a `BatchEnsemble`.
    """

    def __init__(
        self,
        variants: Sequence[Any],
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> None:
        first = variants[0]
        self.members = first.size
        self.stack = Stack(
            _repeated(problems, self.members),
            _repeated(rngs, self.members),
            first.batch_size,
            heteroscedastic=first.heteroscedastic,
        )
        self.layout = Layout.of(self.stack.network, self.members, first.separate_last)
        streams, shared = Streams(rngs), self.stack.weights[:: self.members]
        self.numbers = self.layout.gathered(shared, self._separate(streams, shared))
        self.scales = self._initial_scales(streams, first.random_signs).to(shared)
        rates = [variant.learning_rate for variant in variants]
        decays = [variant.weight_decay for variant in variants]
        self.of_numbers = Adam([self.numbers], rates, decays)
        self.of_scales = Adam([self.scales], rates)

    def _separate(
        self, streams: Streams, shared: Float[Tensor, "problems parameters"]
    ) -> Float[Tensor, "problems members parameters"]:
        """Return initial weights for each member: equal, but for a separate last layer."""
        weights = shared.unsqueeze(1).repeat(1, self.members, 1)
        start_small(self.stack.network, weights)
        owners = {part.owner for part in self.layout.separate if part.name == "weight"}
        network = self.stack.network
        drawn = [
            network.initial_weights(spawn(rng, self.members), dtype=shared.dtype)
            for rng in streams.distinct
        ]
        of_members = streams.to_members(torch.stack(drawn))
        for part in self.layout.separate:
            if part.owner in owners:
                columns = slice(part.offset, part.stop)
                weights[..., columns] = of_members[..., columns]
        return weights

    def _initial_scales(
        self, streams: Streams, random_signs: str
    ) -> Float[Tensor, "problems scales"]:
        """Return random signs for all scales, or only for those of the first inputs; else 1."""
        sizes = self.layout.scale_sizes
        device = streams.distinct[0].device
        shape = self.members, sum(sizes)
        drawn = torch.stack(
            [torch.randint(2, shape, generator=rng, device=device) for rng in streams.distinct]
        )
        signs = 2.0 * drawn - 1
        if random_signs == "first":
            signs[..., sum(sizes[:1]) :] = 1.0
        return streams.to_members(signs).flatten(1)

    @property
    def changing(self) -> list[Part]:
        """The parts that a step changes, for checkpoints."""
        return [*self.of_numbers.changing, *self.of_scales.changing]

    def begin_epoch(self, factors: Sequence[float]) -> None:
        """Set the learning rates to their peaks times these factors, one for each network."""
        self.of_numbers.begin_epoch(factors[:: self.members])
        self.of_scales.begin_epoch(factors[:: self.members])

    def step(self, inputs: Tensor, targets: Tensor) -> Float[Tensor, " networks"]:
        """Move along the gradient of the members' mean loss; return each network's, in nats."""
        active = len(inputs) // self.members
        numbers = self.numbers[:active].detach().requires_grad_()
        scales = self.scales[:active].detach().requires_grad_()
        losses = self.stack.loss(self.layout.weights(numbers, scales), inputs, targets)
        total = losses.sum() / self.members
        of_numbers, of_scales = torch.autograd.grad(total, (numbers, scales))
        self.of_numbers.step(of_numbers)
        self.of_scales.step(of_scales)
        return losses.detach()

    def run(self, epochs: Sequence[int], schedule: Any) -> None:
        """Train each problem's members for its number of epochs, in descending order."""
        self.stack.run(_repeated(epochs, self.members), self.step, self, schedule)
        self.stack.weights.copy_(self.layout.weights(self.numbers, self.scales))

    def posteriors(self) -> list[Posterior | InferenceDiverged]:
        """Return each problem's equal-weight mixture of members, or the failure of one."""
        starts = range(0, len(self.stack.weights), self.members)
        mixtures = [self._mixture(slice(start, start + self.members)) for start in starts]
        outcomes = self.stack.outcomes(_repeated(mixtures, self.members))
        groups = [outcomes[start : start + self.members] for start in starts]
        return [
            next((one for one in group if isinstance(one, InferenceDiverged)), group[0])
            for group in groups
        ]

    def _mixture(self, rows: slice) -> NetworkPosterior:
        stack = self.stack
        noise = float(stack.noise.variance[rows].mean()) if stack.noise else None
        return NetworkPosterior(
            stack.network,
            stack.likelihood,
            # Separate memory: products round as if fitted one at a time.
            stack.weights[rows].clone(),
            stack.buffers[rows].clone(),
            noise,
            {} if noise is None else {"noise_std": noise**0.5},
        )


def _repeated(values: Sequence[Any], times: int) -> list[Any]:
    return [value for value in values for _ in range(times)]
