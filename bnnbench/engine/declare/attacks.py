r"""Adversarial test inputs from signs of the gradient of a posterior's loss.

The loss is that of the reported prediction, $-\log \tfrac1S \sum_s p(y \mid x, \theta_s)$: its
gradient weights a draw by the probability that it gives the target. Every gradient has its own
draws, the same at all points, and predictions are scored with others (Athalye et al., 2018: attacks
on random predictions need expectations over their randomness).
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float, Float64, Int
from torch import Generator, Tensor

from bnnbench.datasets.base import Dataset, Scaling, Split
from bnnbench.datasets.conditions.perturbations import Perturbation
from bnnbench.engine.declare.surrogate import Surrogate
from bnnbench.methods.base import Differentiable, NotDifferentiable
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import require_count, require_positive

POINTS_AT_ONCE = 250


@dataclass(frozen=True)
class Attacked:
    """Test inputs after an attack."""

    inputs: Float[Tensor, "points *features"]
    gradient: Float[Tensor, "points *features"]
    """Gradient of the loss at the attack's starting point; if 0, there was no direction to follow.
    """


@dataclass(frozen=True)
class Attack(Perturbation):
    """A perturbation by at most `size` in every input that raises a posterior's loss.

    A gradient averages the probabilities of `averages` calls of `log_probs`, each with as many
    draws as a prediction: double it to see whether they are enough.
    """

    averages: int = 1
    surrogate: Surrogate | None = field(default=None, kw_only=True)
    """The fit whose loss is raised instead; every posterior then receives the same inputs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count(self, "averages")

    def select(self, dataset: Dataset) -> Split:
        """Return the test split, where the attack starts."""
        return dataset.test

    @abstractmethod
    def perturbed(
        self, posterior: Differentiable, split: Split, scaling: Scaling, rng: Generator
    ) -> Attacked:
        """Return the changed inputs of a split; equal streams give equal draws and starts.

        Raises `NotDifferentiable` if there is no gradient to follow.
        """

    def ascent(
        self, posterior: Differentiable, inputs: Tensor, targets: Tensor, rng: Generator
    ) -> Float[Tensor, "points *features"]:
        """Return the gradient of the loss under fresh draws."""
        seeds = [child.initial_seed() for child in spawn(rng, self.averages)]
        return loss_and_gradient(posterior, inputs, targets, seeds)[1]

    def within(self, inputs: Tensor, start: Tensor, scaling: Scaling) -> Tensor:
        """Return the inputs clamped to within `size` of their start."""
        radius = self.radius(start, scaling)
        return self.clamped(inputs.clamp(start - radius, start + radius), scaling)


@dataclass(frozen=True)
class Fgsm(Attack):
    """x + ε sign ∇L: one step of the full size.

    Source: Goodfellow, Shlens and Szegedy (2015), "Explaining and Harnessing Adversarial Examples".
    """

    kind: ClassVar[str] = "fgsm"
    title: ClassVar[str] = "Gradient signs (FGSM)"
    size_name: ClassVar[str] = "ε"

    def perturbed(
        self, posterior: Differentiable, split: Split, scaling: Scaling, rng: Generator
    ) -> Attacked:
        """Return the inputs after the step."""
        inputs = split.inputs
        gradient = self.ascent(posterior, inputs, split.targets, rng)
        moved = inputs + self.radius(inputs, scaling) * gradient.sign()
        return Attacked(self.clamped(moved, scaling), gradient)


@dataclass(frozen=True)
class Pgd(Attack):
    """Steps of sign ∇L, each followed by a projection; each point keeps its worst restart.

    A step is `step` times the size. Restarts begin anywhere within the size, or at the inputs
    themselves if `random_start` is off. Only the end of a restart counts: a loss estimated from
    draws is largest where the draws were unusual.

    Source: Madry et al. (2018), "Towards Deep Learning Models Resistant to Adversarial Attacks".
    """

    steps: int = 40
    step: float = 0.1
    restarts: int = 1
    random_start: bool = True

    kind: ClassVar[str] = "pgd"
    title: ClassVar[str] = "Projected gradient steps (PGD)"
    size_name: ClassVar[str] = "ε"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count(self, "steps", "restarts")
        require_positive(self, "step")
        if self.restarts > 1 and not self.random_start:
            raise ValueError("several restarts need random_start; without it they are all the same")

    def perturbed(
        self, posterior: Differentiable, split: Split, scaling: Scaling, rng: Generator
    ) -> Attacked:
        """Return for every point the end of the restart with the largest loss."""
        choosing, *rngs = spawn(rng, self.restarts + 1)
        seeds = [child.initial_seed() for child in spawn(choosing, self.averages)]
        ends, losses, first = [], [], None
        for restart_rng in rngs:
            end, gradient = self._restart(posterior, split, scaling, restart_rng)
            ends.append(end)
            first = gradient if first is None else first
            if self.restarts > 1:
                losses.append(loss_and_gradient(posterior, end, split.targets, seeds)[0])
        assert first is not None
        if self.restarts == 1:
            return Attacked(ends[0], first)
        worst = torch.stack(losses).argmax(0)
        points = torch.arange(len(worst), device=worst.device)
        return Attacked(torch.stack(ends)[worst, points], first)

    def _restart(
        self, posterior: Differentiable, split: Split, scaling: Scaling, rng: Generator
    ) -> tuple[Tensor, Tensor]:
        """Return the final inputs, and the gradient at the start."""
        start, inputs = split.inputs, split.inputs
        radius = self.radius(start, scaling)
        if self.random_start:
            uniform = torch.empty_like(start).uniform_(-1, 1, generator=rng)
            inputs = self.within(start + radius * uniform, start, scaling)
        first = None
        for _ in range(self.steps):
            gradient = self.ascent(posterior, inputs, split.targets, rng)
            first = gradient if first is None else first
            inputs = self.within(inputs + self.step * radius * gradient.sign(), start, scaling)
        assert first is not None
        return inputs, first


def loss_and_gradient(
    posterior: Differentiable,
    inputs: Float[Tensor, "points *features"],
    targets: Int[Tensor, " points"],
    seeds: Sequence[int],
) -> tuple[Float64[Tensor, " points"], Float[Tensor, "points *features"]]:
    """Return the loss of every point in nats, and its gradient with respect to the inputs.

    Probabilities are averaged over one call for each seed. Raises `NotDifferentiable` if a
    gradient is not finite.
    """
    losses, gradients = [], []
    for chunk, chunk_targets in zip(
        inputs.split(POINTS_AT_ONCE), targets.split(POINTS_AT_ONCE), strict=True
    ):
        leaf = chunk.detach().requires_grad_()
        with torch.enable_grad():
            loss = _loss(posterior, leaf, chunk_targets, seeds)
            gradients.append(
                torch.autograd.grad(loss.sum(), leaf)[0]
                if loss.requires_grad
                else torch.zeros_like(chunk)
            )
        losses.append(loss.detach())
    gradient = torch.cat(gradients)
    if not gradient.isfinite().all():
        not_finite = int((~gradient.flatten(1).isfinite().all(1)).sum())
        raise NotDifferentiable(
            f"the gradient of the loss is not finite at {not_finite} test points"
        )
    return torch.cat(losses), gradient


def _loss(
    posterior: Differentiable, inputs: Tensor, targets: Tensor, seeds: Sequence[int]
) -> Float64[Tensor, " points"]:
    """Return the negative log of the mean probability of each target, in nats."""
    log_probs = [
        posterior.log_probs(inputs, torch.Generator(inputs.device).manual_seed(seed))
        .gather(1, targets.long()[:, None])
        .squeeze(1)
        for seed in seeds
    ]
    return math.log(len(log_probs)) - torch.stack(log_probs).double().logsumexp(0)
