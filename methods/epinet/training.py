"""Joint training of base networks and their epinets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.epinet.losses import class_losses, density_losses, variance_losses
from bnnbench.methods.epinet.networks import (
    PriorNetworks,
    epinet_outputs,
    perceptron,
    prior_outputs,
    unit_directions,
)
from bnnbench.methods.epinet.posterior import EpinetPosterior, with_hidden
from bnnbench.methods.fitting.body import Body
from bnnbench.methods.fitting.clipping import Together
from bnnbench.methods.fitting.common_variance import start_small
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.optimisers import Adam, column
from bnnbench.methods.fitting.randomness import normal, spawn
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.networks.least_rows import least_rows
from bnnbench.methods.networks.torch_network import TorchNetwork


class Training:
    """The numbers of stacked members and their update step.

    Each member has the settings of its variant, an `Epinet`. Its rows carry, beside the inputs, the
    values of its prior networks and the directions in which the index perturbs the targets.
    """

    def __init__(
        self,
        variants: Sequence[Any],
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> None:
        self.variants, self.settings = variants, variants[0]
        first = self.settings
        self.body = Body.of(problems[0]).network
        self.stack = Stack(problems, rngs, first.batch_size, heteroscedastic=first.heteroscedastic)
        start_small(self.stack.network, self.stack.weights)
        self.features, self.outputs = problems[0].input_shape[0], outputs_of(problems[0])
        hidden = self.body.output_shape[0] if self.body else 0
        known = hidden + self.features
        self.epinet = TorchNetwork(
            perceptron(first.hidden, self.outputs * first.dimension), (known + first.dimension,)
        )
        streams, dtype = self.stack.streams, self.stack.weights.dtype
        self.weights = streams.to_members(
            self.epinet.initial_weights(streams.distinct, dtype=dtype)
        )
        self.priors = self._drawn_priors(problems)
        self.scales = column([v.prior_scale for v in variants], self.weights)[..., None, None]
        least = least_rows(problems[0].architecture, problems[0].input_shape)
        rows = self._with_columns(problems)
        self.stack.batches = Minibatches(rows, rngs, first.batch_size, least)
        rates = [variant.learning_rate for variant in variants]
        decays = [variant.weight_decay for variant in variants]
        self.of_base = Adam([self.stack.weights], rates, decays)
        self.of_epinet = Adam([self.weights], rates, decays)

    def _drawn_priors(self, problems: Sequence[Problem]) -> list[PriorNetworks]:
        """Return each member's prior networks."""
        architecture = perceptron(self.settings.prior_hidden, self.outputs)
        network = TorchNetwork(architecture, (self.features,))
        count, dtype = self.settings.dimension, self.weights.dtype
        streams = self.stack.streams
        drawn = [
            network.initial_weights(spawn(rng, count), dtype=dtype) for rng in streams.distinct
        ]
        of_members = streams.to_members(torch.stack(drawn))
        return [
            PriorNetworks.standardised(network, weights.clone(), problem.train.inputs)
            for weights, problem in zip(of_members, problems, strict=True)
        ]

    def _with_columns(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return problems whose inputs have columns of prior values and directions."""
        shape = len(problems[0].train), self.settings.dimension
        normals = normal(self.stack.streams, *shape, dtype=self.weights.dtype)
        return [
            replace(
                problem,
                train=Split(
                    torch.cat([x, priors(x).flatten(1), unit_directions(rows)], 1),
                    problem.train.targets,
                ),
            )
            for problem, priors, rows in zip(problems, self.priors, normals, strict=True)
            for x in [problem.train.inputs]
        ]

    def run(self) -> None:
        """Train every member."""
        lengths = [variant.epochs for variant in self.variants]
        optimiser = Together([self.of_base, self.of_epinet])
        self.stack.run(lengths, self.step, optimiser, self.settings.schedule)

    def step(self, inputs: Tensor, targets: Tensor) -> Float[Tensor, " members"]:
        """Move the first members along the gradient of a batch; return their losses, in nats."""
        members, dimension = len(inputs), self.settings.dimension
        x, priors, directions = inputs.split(
            [self.features, self.outputs * dimension, dimension], -1
        )
        x, priors = x.contiguous(), priors.unflatten(-1, (self.outputs, dimension))
        base = self.stack.weights[:members].detach().requires_grad_()
        weights = self.weights[:members].detach().requires_grad_()
        draws = self.settings.index_draws
        indices = normal(self.stack.streams, draws, dimension, dtype=base.dtype)
        outputs = self._base_outputs(base, x)
        added = self._epinet_outputs(weights, x, indices)
        added = added + self.scales[:members] * prior_outputs(priors, indices)
        shifts = self.settings.bootstrap_std * (directions @ indices.mT)
        losses = self._losses(outputs, added, targets, shifts)
        of_base, of_epinet = torch.autograd.grad(losses.sum(), (base, weights))
        self.of_base.step(of_base)
        self.of_epinet.step(of_epinet)
        return losses.detach()

    def _base_outputs(self, weights: Tensor, x: Tensor) -> Float[Tensor, "members points both"]:
        stack = self.stack
        buffers = stack.buffers[: len(x)]
        return stack.network(weights, x, buffers=buffers, training=True, rngs=stack.streams)

    def _epinet_outputs(
        self, weights: Tensor, x: Tensor, indices: Tensor
    ) -> Float[Tensor, "members points draws outputs"]:
        members = len(x)
        with torch.no_grad():
            base, buffers = self.stack.weights[:members], self.stack.buffers[:members]
            known = with_hidden(self.body, base, x, buffers)
        return epinet_outputs(self.epinet, weights, known, indices)

    def _losses(
        self,
        outputs: Float[Tensor, "members points both"],
        added: Float[Tensor, "members points draws outputs"],
        targets: Tensor,
        shifts: Float[Tensor, "members points draws"],
    ) -> Float[Tensor, " members"]:
        """Return each member's mean loss over rows and indices, in nats."""
        members, noise = len(outputs), self.stack.noise
        if isinstance(self.stack.likelihood, Categorical):
            losses = class_losses(outputs.unsqueeze(2) + added, targets)
            self.stack.log_loss[:members] += losses.detach()
            return losses
        perturbed = targets.unsqueeze(2) + shifts.unsqueeze(-1)
        if noise is None:
            return variance_losses(outputs, added, perturbed)
        squares = (outputs.unsqueeze(2) + added - perturbed).square().flatten(1).mean(1)
        noise.update(squares.detach(), targets.shape[1])
        return self.outputs * density_losses(squares, noise.variance[:members])

    def posteriors(self) -> list[Posterior | InferenceDiverged]:
        """Return each member's posterior, or its failure."""
        members = range(len(self.variants))
        return self.stack.outcomes([self._posterior(m) for m in members], self.weights)

    def _posterior(self, member: int) -> EpinetPosterior:
        base, variant = self.stack.posterior(member), self.variants[member]
        return EpinetPosterior(
            # Separate memory: products round as if fitted one at a time.
            replace(base, weights=base.weights.clone(), buffers=base.buffers.clone()),
            self.body,
            self.epinet,
            self.weights[member : member + 1].clone(),
            self.priors[member],
            variant.prior_scale,
            variant.draws,
        )


def outputs_of(problem: Problem) -> int:
    """Return the number of classes or targets."""
    if isinstance(problem.likelihood, Categorical):
        return problem.likelihood.classes
    return problem.train.targets.shape[1]
