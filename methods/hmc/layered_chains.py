"""Chains with a precision for each group of weights, and moves along their scales."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.base import Problem
from bnnbench.methods.fitting import work
from bnnbench.methods.hmc.chains import Chains, Transition
from bnnbench.methods.hmc.layers import curvatures, directions
from bnnbench.methods.hmc.precisions import GammaPrior, PrecisionDraws
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron

FIXED = GammaPrior(1.0, 1.0, fixed=1.0)
"""The factor of all precisions of groups."""


@dataclass(frozen=True)
class Held:
    """Draws of a precision that has one value in the first iterations."""

    draws: PrecisionDraws
    iterations: int
    value: float

    def given(
        self, iteration: int, half_squares: Float[Tensor, " members"]
    ) -> Float[Tensor, " members"]:
        """Return draws given half the sum of squared numbers, or the value."""
        if iteration < self.iterations and self.draws.prior.fixed is None:
            return torch.full_like(half_squares, self.value)
        return self.draws.given(iteration, half_squares)

    def log_prob(
        self, precision: Float[Tensor, " members"], half_squares: Float[Tensor, " members"]
    ) -> Float[Tensor, " members"]:
        """Return the joint log density of the numbers and their precision, up to a constant."""
        return self.draws.log_prob(precision, half_squares)


@dataclass(frozen=True)
class Start:
    """Standard deviations of all weights and of the noise in the first iterations.

    Weights thereby follow the data before precisions are drawn: from weights that do not, the noise
    may become the whole spread of the targets, and stay so.
    """

    iterations: int
    weight_std: float = 0.1
    noise_std: float = 0.05


class LayeredChains(Chains):
    """Chains that draw a precision for each group of weights before a move.

    After a move, weights and precisions move together along `directions`, with weights over their
    standard deviations fixed: otherwise the precision of weights that the data leave open hardly
    changes (Yu and Meng, 2011, "To Center or Not to Center"). Chains start at standard normal
    states. Masses follow the precisions: a layer whose weights have become small moves in small
    steps (Neal, 1995, appendix A.4).
    """

    def __init__(
        self,
        network: ScaledPerceptron,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        chains: int,
        iterations: int,
        priors: Sequence[GammaPrior],
        noise_prior: GammaPrior,
        start: Start,
    ) -> None:
        super().__init__(network, problems, rngs, chains, iterations, FIXED, noise_prior)
        self._layers, self._groups = network.layers, network.groups
        self._start = start
        self._noise_precisions = Held(
            self._noise_precisions,  # pyright: ignore[reportArgumentType] (the draws of `Chains`)
            start.iterations,
            start.noise_std**-2,
        )
        self._draws = [
            Held(
                PrecisionDraws(prior, len(group), rngs, chains, iterations),
                start.iterations,
                (network.layers[number // 2].scale / start.weight_std) ** 2,
            )
            for number, (prior, group) in enumerate(zip(priors, network.groups, strict=True))
        ]
        self._shapes, self._rates = self.losses.new_tensor([(p.shape, p.rate) for p in priors]).T
        self._directions = directions(network.layers).to(self.losses)
        self.precisions = self._given_states()

    def move(
        self, step_size: Float[Tensor, " problems"], steps: Int[Tensor, " problems"]
    ) -> Transition:
        """Draw the precisions, then follow a trajectory of `steps` leapfrog steps."""
        self.precisions = self._given_states()
        self.noise_precision = self._noise_precisions.given(self.iteration, self.losses)
        data = self.noise_precision * self.rows
        curved = curvatures(self._layers, self.precisions, data)
        self.set_variances(self._placed(curved.reciprocal()))
        of_weights = self._placed(self.precisions)
        for part, loss in self._blocks:
            loss.precisions = of_weights[part]  # pyright: ignore[reportAttributeAccessIssue]
            loss.states.copy_(self.states[part])
        transition = super().move(step_size, steps)
        if self.iteration <= self._start.iterations:
            return transition
        for direction, *random in zip(self._directions, *self._random(), strict=True):
            self._move_along(direction, *random)
        return transition

    def _random(self) -> tuple[Float[Tensor, "directions members"], ...]:
        """Return standard normal and uniform numbers for moves along each direction."""
        shape = len(self._directions), self.shape[1]
        settings = {"dtype": torch.float64, "device": self.losses.device}
        draws = [
            [draw(*shape, generator=rng, **settings) for draw in (torch.randn, torch.rand)]
            for rng in self.rngs
        ]
        normals, uniforms = zip(*draws, strict=True)
        return torch.cat(normals, 1), torch.cat(uniforms, 1)

    def _move_along(
        self,
        direction: Float[Tensor, " groups"],
        by: Float[Tensor, " members"],
        uniform: Float[Tensor, " members"],
    ) -> None:
        """Accept or reject a step in the logarithms of precisions."""
        steps = direction[:, None] * by
        proposed = self.precisions * steps.exp()
        changes = (proposed - self.precisions) * self._rates[:, None]
        of_prior = (self._shapes[:, None] * steps - changes).sum(0)
        states = self.states * self._placed((-steps / 2).exp())
        for part, loss in self._blocks:
            loss.states.copy_(states[part])
            loss.differentiate()
        work.count("gradient_rows", len(states) * self.rows)
        losses = torch.cat([loss.value() for _, loss in self._blocks])
        gradients = torch.cat([loss.gradients for _, loss in self._blocks])
        accepted = uniform.log() < of_prior - self.noise_precision * (losses - self.losses)
        self.precisions = torch.where(accepted, proposed, self.precisions)
        self.states = torch.where(accepted[:, None], states, self.states)
        self.gradients = torch.where(accepted[:, None], gradients, self.gradients)
        self.losses = torch.where(accepted, losses, self.losses)
        self.outputs = torch.where(accepted[:, None, None], self._outputs(), self.outputs)

    def log_density(self) -> Float[Tensor, " members"]:
        """Return the joint log density of data, weights and precisions, up to a constant."""
        rows = zip(self._draws, self.precisions, self._squares(self.states), strict=True)
        weights = sum(draws.log_prob(precision, squares) for draws, precision, squares in rows)
        return weights + self._noise_precisions.log_prob(self.noise_precision, self.losses)

    def _placed(self, values: Float[Tensor, "groups members"]) -> Float[Tensor, "members size"]:
        """Return the values of groups at the places of their weights, and 0 at padding."""
        placed = torch.zeros_like(self.states)
        for group, of_group in zip(self._groups, values, strict=True):
            placed[:, group] = of_group[:, None].to(placed)
        return placed

    def _given_states(self) -> Float[Tensor, "groups members"]:
        rows = zip(self._draws, self._squares(self.states), strict=True)
        return torch.stack([draws.given(self.iteration, squares) for draws, squares in rows])

    def _squares(self, states: Float[Tensor, "members size"]) -> list[Float[Tensor, " members"]]:
        return [states[:, group].double().square().sum(1) / 2 for group in self._groups]

    def _energy(
        self,
        losses: Float[Tensor, " members"],
        half_squares: Float[Tensor, " members"],
        momenta: Float[Tensor, "members size"],
    ) -> Float[Tensor, " members"]:
        """Return the energy at the states of the losses, without terms of precisions alone."""
        states = torch.cat([loss.states for _, loss in self._blocks])
        weighted = (self.precisions * torch.stack(self._squares(states))).sum(0)
        return super()._energy(losses, weighted, momenta)
