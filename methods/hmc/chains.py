"""Hamiltonian Monte Carlo for the chains of several problems side by side."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Problem
from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.fitting import work
from bnnbench.methods.hmc.precisions import GammaPrior, PrecisionDraws
from bnnbench.methods.hmc.scaled_networks import Loss, ScaledNetwork

DIVERGENCE = 1000.0
"""Energy error beyond which a trajectory counts as divergent."""
PROBES = 50
"""Number of training points, the first of each problem, whose outputs are traced."""


class Transition(NamedTuple):
    """Diagnostics of one move of every chain."""

    acceptance: Float[Tensor, " members"]
    """Acceptance probabilities; 0 if the trajectory diverged."""
    diverged: Bool[Tensor, " members"]


class Chains:
    """The states of all chains and their moves; chains of one problem are adjacent.

    A move draws the precisions given the weights, then the weights given the precisions along a
    trajectory of Hamiltonian dynamics. Chains start at draws from the prior.
    """

    def __init__(
        self,
        network: ScaledNetwork,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        chains: int,
        iterations: int,
        weight_prior: GammaPrior,
        noise_prior: GammaPrior,
    ) -> None:
        sizes = {len(problem.train) for problem in problems}
        if len(sizes) != 1:
            raise ValueError(f"needed equal numbers of rows within a stack; got {sizes}")
        train, likelihood = problems[0].train, problems[0].likelihood
        residuals = 0 if isinstance(likelihood, Categorical) else train.targets.numel()
        self.rows = len(train)
        self.rngs, self.shape = tuple(rngs), (len(problems), chains, len(network.free))
        self.iteration = 0
        draws = (rngs, chains, iterations)
        self._weight_precisions = PrecisionDraws(weight_prior, int(network.free.sum()), *draws)
        self._noise_precisions = PrecisionDraws(noise_prior, residuals, *draws)
        self._uniform = torch.cat([_uniform(rng, iterations, chains) for rng in rngs], dim=1)
        self.weight_precision = self._weight_precisions.initial()
        self.noise_precision = self._noise_precisions.initial()
        self.set_variances(network.free.to(train.inputs).repeat(len(problems) * chains, 1))
        stds = self.weight_precision.rsqrt().to(train.inputs)
        self.states = self._momenta() * stds[:, None]
        self._blocks = _blocks(network, problems, chains)
        for part, loss in self._blocks:
            loss.states.copy_(self.states[part])
            loss.differentiate()
        work.count("gradient_rows", len(self.states) * self.rows)
        self.gradients = torch.cat([loss.gradients for _, loss in self._blocks])
        self.losses = torch.cat([loss.value() for _, loss in self._blocks])
        self.outputs = self._outputs()

    @property
    def changing(self) -> Part:
        """The parts that a move changes, for checkpoints."""
        precisions = ("weight_precision", "noise_precision")
        masses = ("_variances", "_momentum_stds")
        names = ("states", "gradients", "losses", "outputs", "iteration")
        return Attributes(self, *precisions, *masses, *names)

    def set_variances(self, variances: Float[Tensor, "members size"]) -> None:
        """Set the variances of the weights. Their inverses are the masses.

        A weight with a variance of 0 does not move.
        """
        self._variances = variances
        self._momentum_stds = torch.where(variances > 0, variances.rsqrt(), 0.0)

    def log_density(self) -> Float[Tensor, " members"]:
        """Return the joint log density of data, weights and precisions, up to a constant."""
        weights = self._weight_precisions.log_prob(self.weight_precision, self._half_squares())
        return weights + self._noise_precisions.log_prob(self.noise_precision, self.losses)

    def move(
        self, step_size: Float[Tensor, " problems"], steps: Int[Tensor, " problems"]
    ) -> Transition:
        """Draw the precisions, then follow a trajectory of `steps` leapfrog steps."""
        step_size, steps = (
            values.repeat_interleave(self.shape[1]) for values in (step_size, steps)
        )
        steps = torch.where(self.losses.isfinite(), steps, 1)  # diverged chains should cost little
        half_squares = self._half_squares()
        self.weight_precision = self._weight_precisions.given(self.iteration, half_squares)
        self.noise_precision = self._noise_precisions.given(self.iteration, self.losses)
        momenta = self._momenta()
        before = self._energy(self.losses, half_squares, momenta)
        states, gradients = self._follow(momenta, step_size, steps)
        losses = torch.cat([loss.value() for _, loss in self._blocks])
        error = self._energy(losses, states.double().square().sum(1) / 2, momenta) - before
        acceptance = (-error).exp().clamp(max=1).nan_to_num(0.0)
        accepted = self._uniform[self.iteration] < acceptance
        self.states = torch.where(accepted[:, None], states, self.states)
        self.gradients = torch.where(accepted[:, None], gradients, self.gradients)
        self.losses = torch.where(accepted, losses, self.losses)
        self.outputs = torch.where(accepted[:, None, None], self._outputs(), self.outputs)
        self.iteration += 1
        return Transition(acceptance, ~(error < DIVERGENCE))

    def _half_squares(self) -> Float[Tensor, " members"]:
        return self.states.double().square().sum(1) / 2

    def _momenta(self) -> Float[Tensor, "members size"]:
        normals = self._momentum_stds.new_empty(self.shape)
        for member_normals, rng in zip(normals, self.rngs, strict=True):
            member_normals.normal_(generator=rng)
        return normals.flatten(0, 1).mul_(self._momentum_stds)

    def _energy(
        self,
        losses: Float[Tensor, " members"],
        half_squares: Float[Tensor, " members"],
        momenta: Float[Tensor, "members size"],
    ) -> Float[Tensor, " members"]:
        """Return potential plus kinetic energy, without the terms that only contain precisions."""
        kinetic = (momenta.double().square() * self._variances).sum(1) / 2
        return self.noise_precision * losses + self.weight_precision * half_squares + kinetic

    def _follow(
        self,
        momenta: Float[Tensor, "members size"],
        step_size: Float[Tensor, " members"],
        steps: Int[Tensor, " members"],
    ) -> tuple[Float[Tensor, "members size"], Float[Tensor, "members size"]]:
        """Return states and gradients at the ends of trajectories; momenta are updated in place."""
        drift = self._variances * step_size[:, None].to(momenta)
        data, prior = (
            -(step_size * precision)[:, None].to(momenta)
            for precision in (self.noise_precision, self.weight_precision)
        )
        for part, loss in self._blocks:
            loss.states.copy_(self.states[part])
            loss.gradients.copy_(self.gradients[part])
            loss.leapfrog(momenta[part], drift[part], data[part], prior[part], steps[part])
        work.count("leapfrog_steps", int(steps.sum()))
        work.count("gradient_rows", int(steps.sum()) * self.rows)
        blocks = [loss for _, loss in self._blocks]
        return torch.cat([b.states for b in blocks]), torch.cat([b.gradients for b in blocks])

    def _outputs(self) -> Float[Tensor, "members probes outputs"]:
        return torch.cat([loss.outputs(PROBES) for _, loss in self._blocks])


def _blocks(
    network: ScaledNetwork, problems: Sequence[Problem], chains: int
) -> list[tuple[slice, Loss]]:
    """Return the losses of all chains, in blocks of the fastest size."""
    members, at_once = len(problems) * chains, network.members_at_once(len(problems[0].train))
    blocks = []
    for start in range(0, members, at_once):
        part = slice(start, min(start + at_once, members))
        splits = [problems[member // chains].train for member in range(part.start, part.stop)]
        inputs = torch.stack([train.inputs for train in splits])
        targets = torch.stack([train.targets for train in splits])
        blocks.append((part, network.loss(inputs, targets, problems[0].likelihood)))
    return blocks


def _uniform(
    rng: torch.Generator, iterations: int, chains: int
) -> Float[Tensor, "iterations chains"]:
    return torch.rand(iterations, chains, dtype=torch.float64, generator=rng, device=rng.device)
