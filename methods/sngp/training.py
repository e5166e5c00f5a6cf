"""Training of residual blocks of bounded norms and of the weights of random features."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.clipping import Together
from bnnbench.methods.fitting.optimisers import Adam, column
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.networks.architectures import Linear, ReLU, Residual
from bnnbench.methods.networks.torch_layers import affine
from bnnbench.methods.sngp.features import (
    RandomFeatures,
    cosines,
)
from bnnbench.methods.sngp.posterior import SngpPosterior
from bnnbench.methods.sngp.spectral import bound_norms, power_iteration

FIRST_ITERATIONS = 10
"""Power iterations before training, when one would underestimate the norms."""


class Training:
    """The numbers of stacked members and their update step.

    Each member has the settings of its variant, an `Sngp`.
    """

    def __init__(
        self,
        variants: Sequence[Any],
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> None:
        self.variants, self.settings = variants, variants[0]
        assert isinstance(problems[0].likelihood, Categorical)
        self.classes, width = problems[0].likelihood.classes, self.settings.width
        body = Linear(width), *[Residual((Linear(width), ReLU()))] * self.settings.blocks
        untrained = [replace(problem, start=None) for problem in problems]
        self.stack = Stack(untrained, rngs, self.settings.batch_size, body)
        self.fixed, self.weights = self._cut(self.stack.weights)
        self._draw_features()
        sizes = self.classes, self.settings.features
        self.head = self.weights.new_zeros(len(variants), sizes[0] * (sizes[1] + 1))
        limits = [variant.norm_bound or math.inf for variant in variants]
        self.bounds = column(limits, self.weights)[:, 0]
        self.left = normal(
            self.stack.streams, self.settings.blocks, width, dtype=self.weights.dtype
        )
        self._start_norms()
        rates = [variant.learning_rate for variant in variants]
        self.of_body = Adam([self.weights], rates, [v.weight_decay for v in variants])
        self.of_head = Adam([self.head], rates)

    def _cut(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the numbers of the first layer, which stay, and those of the blocks."""
        first = sum(part.size for part in self.stack.network.parameters if part.owner == "0")
        return weights[:, :first].clone(), weights[:, first:].clone()

    def _draw_features(self) -> None:
        """Draw the fixed frequencies and phases."""
        width, count = self.settings.width, self.settings.features
        streams, dtype = self.stack.streams, self.weights.dtype
        length = math.sqrt(self.settings.squared_length or width)
        self.frequencies = normal(streams, count, width, dtype=dtype) / length
        uniform = torch.empty(len(streams.distinct), count, dtype=dtype, device=self.fixed.device)
        for row, rng in zip(uniform, streams.distinct, strict=True):
            row.uniform_(0.0, 2 * math.pi, generator=rng)
        self.phases = streams.to_members(uniform)

    def _matrices(self, weights: Tensor) -> list[Float[Tensor, "members width width"]]:
        """Return the matrices of the residual blocks, as views."""
        width = self.settings.width
        blocks = weights.split((width + 1) * width, 1) if self.settings.blocks else ()
        return [block[:, : width**2].unflatten(1, (width, width)) for block in blocks]

    def _start_norms(self) -> None:
        for number, matrices in enumerate(self._matrices(self.weights)):
            for _ in range(FIRST_ITERATIONS):
                self.left[:, number] = power_iteration(matrices, self.left[:, number])[0]
        self._bound(len(self.weights))

    def _bound(self, members: int) -> None:
        for number, matrices in enumerate(self._matrices(self.weights[:members])):
            bound_norms(matrices, self.left[:members, number], self.bounds[:members])

    def run(self) -> None:
        """Train every member."""
        lengths = [variant.epochs for variant in self.variants]
        optimiser = Together([self.of_body, self.of_head])
        schedule = self.settings.schedule
        self.stack.run(lengths, self.step, optimiser, schedule, changing=[self.left])

    def step(self, inputs: Tensor, targets: Tensor) -> Float[Tensor, " members"]:
        """Move the first members along the gradient of a batch; return their losses, in nats."""
        point = [one[: len(inputs)].detach().requires_grad_() for one in (self.weights, self.head)]
        losses = self._losses(point[0], point[1], inputs, targets)
        of_body, of_head = torch.autograd.grad(
            losses.sum(), point, allow_unused=True, materialize_grads=True
        )
        self.of_body.step(of_body)
        self.of_head.step(of_head)
        self._bound(len(inputs))
        return losses.detach()

    def _losses(
        self,
        weights: Tensor,
        head: Tensor,
        inputs: Tensor,
        targets: Int[Tensor, "members batch"],
    ) -> Float[Tensor, " members"]:
        """Return the cross-entropy and each row's share of the prior."""
        members = len(inputs)
        means, biases = self._head(head)
        logits = affine(self._features(weights, inputs), means, biases)
        flat = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        losses = flat.view(targets.shape).mean(1)
        self.stack.log_loss[:members] += losses.detach()
        squares = means.square().flatten(1).sum(1)
        return losses + self.settings.ridge / (2 * self.stack.batches.rows) * squares

    def _features(
        self, weights: Tensor, inputs: Tensor
    ) -> Float[Tensor, "members points features"]:
        members = len(weights)
        both = torch.cat([self.fixed[:members], weights], 1)
        frequencies, phases = self.frequencies[:members], self.phases[:members]
        return cosines(self.stack.network(both, inputs), frequencies, phases)

    def _head(self, head: Tensor) -> tuple[Tensor, Tensor]:
        """Return the last layer's weights and biases."""
        means, biases = head[:, : -self.classes], head[:, -self.classes :]
        return means.unflatten(1, (self.classes, -1)), biases

    def posteriors(self, problems: Sequence[Problem]) -> list[Posterior | InferenceDiverged]:
        """Return each member's posterior, or its failure."""
        numbers = torch.cat([self.weights, self.head], 1)
        sound = self.stack.outcomes([self._mode(m) for m in range(len(problems))], numbers)
        return [
            one.with_covariance(problem.train.inputs, self.settings.ridge)
            if isinstance(one, SngpPosterior)
            else one
            for one, problem in zip(sound, problems, strict=True)
        ]

    def _mode(self, member: int) -> SngpPosterior:
        """Return a member's posterior without its covariance."""
        rows, variant = slice(member, member + 1), self.variants[member]
        means, biases = self._head(self.head[rows])
        features = RandomFeatures(
            self.stack.network,
            torch.cat([self.fixed[rows], self.weights[rows]], 1),
            # Separate memory: products round as if fitted one at a time.
            self.frequencies[rows].clone(),
            self.phases[rows].clone(),
        )
        return SngpPosterior(
            features,
            means[0].clone(),
            biases[0].clone(),
            means.new_zeros(()).expand(self.classes, *[means.shape[2]] * 2),
            variant.mean_field_factor,
            variant.draws,
        )
