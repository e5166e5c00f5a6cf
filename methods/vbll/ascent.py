"""Joint training of features, last layers and their noise, for several members side by side."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.body import Body
from bnnbench.methods.fitting.clipping import Together, clipped
from bnnbench.methods.fitting.optimisers import Adam, column
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.vbll import heads
from bnnbench.methods.vbll.heads import Heads
from bnnbench.methods.vbll.posterior import VbllPosterior

INITIAL_LOG_FACTOR = -2.0
"""Log of a weight's initial standard deviation, in units of the prior's."""
SMALLEST = 1e-12
"""Minimum initial noise variance, for a trained network whose residuals are all 0."""
NOISE_SCALES = {True: 1.0, False: 0.01}
"""Default scale of the noise's prior, for classes and for regression."""


class Ascent:
    """Weights of the body, heads and noise of stacked members, and their update step.

    Each member has the settings of its variant, a `Vbll`.
    """

    def __init__(
        self,
        variants: Sequence[Any],
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> None:
        self.variants, self.settings = variants, variants[0]
        self.body = Body.of(problems[0])
        self.stack = Stack(problems, rngs, self.settings.batch_size)
        self.classes = isinstance(self.stack.likelihood, Categorical)
        self.learns_noise = self.classes or self.stack.likelihood == Gaussian(None)
        trained = self.body.last_layer(self.stack.weights)
        width = 1 if self.classes else trained.shape[-1]
        self.prior_variances = column([v.prior_scale / width for v in variants], trained)
        started = problems[0].start is not None
        self.weights = self.stack.weights[:, : self.body.count].clone()
        self.numbers = torch.cat(
            [
                (trained if started else self._drawn(trained)).flatten(1),
                self._initial_factors(trained).flatten(1),
                self._initial_noise(trained, started),
            ],
            dim=1,
        )
        """Means, factors and log noise of the heads, of each member side by side."""
        self.shapes = trained.shape[1:]
        rates = [variant.learning_rate for variant in variants]
        self.of_body = Adam([self.weights], rates, [v.weight_decay for v in variants])
        self.of_heads = Adam([self.numbers], rates)
        self.optimiser = Together([self.of_body, self.of_heads])

    def heads_of(self, numbers: Float[Tensor, "members numbers"]) -> Heads:
        """Return the heads of trained numbers; noise that is known has no gradient."""
        count, width = self.shapes
        sizes = [count * width, count * width**2, count]
        means, factors, logs = numbers.split(sizes, 1)
        return Heads(
            means.unflatten(1, (count, width)),
            heads.triangular(factors.unflatten(1, (count, width, width))),
            logs if self.learns_noise else logs.detach(),
        )

    def _drawn(self, pattern: Tensor) -> Tensor:
        """Return means drawn from the prior."""
        normals = normal(self.stack.streams, *pattern.shape[1:], dtype=pattern.dtype)
        return normals * self.prior_variances.sqrt().unsqueeze(-1)

    def _initial_factors(self, pattern: Tensor) -> Tensor:
        logs = 0.5 * self.prior_variances.log() + INITIAL_LOG_FACTOR
        return torch.diag_embed(logs.unsqueeze(-1).expand_as(pattern))

    def _initial_noise(self, pattern: Tensor, started: bool) -> Tensor:
        """Return log standard deviations: known, of the trained network, or the setting's."""
        noise = self.stack.noise
        logs = pattern.new_full(pattern.shape[:2], math.log(self.settings.initial_noise_std))
        if noise is not None and (started or not noise.learned):
            known = 0.5 * noise.variance.clamp_min(SMALLEST).log()
            logs = known.unsqueeze(1).expand_as(logs).contiguous()
        return logs

    def step(self, inputs: Tensor, targets: Tensor) -> Float[Tensor, " members"]:
        """Move the first members along the gradient of a batch; return their losses, in nats."""
        tensors = self.weights, self.numbers
        point = [tensor[: len(inputs)].detach().requires_grad_() for tensor in tensors]
        loss = self.loss(point[0], point[1], inputs, targets)
        gradients = torch.autograd.grad(
            loss.sum(), point, allow_unused=True, materialize_grads=True
        )
        of_weights, of_numbers = clipped(gradients, self.settings.clip)
        self.of_body.step(of_weights)
        self.of_heads.step(of_numbers)
        return loss.detach()

    def loss(
        self, weights: Tensor, numbers: Tensor, inputs: Tensor, targets: Tensor
    ) -> Float[Tensor, " members"]:
        """Return the negative bound per row, in nats: the batch's mean, and the priors' share."""
        members = len(inputs)
        phi = self.body.features(self.stack, weights, inputs)
        given = self.heads_of(numbers)
        bounds = self._bounds(phi, targets, given)
        if self.classes:
            self.stack.log_loss[:members] -= bounds.detach()
        prior = -heads.divergences(given, self.prior_variances[:members]).sum(1)
        if self.learns_noise:
            scale = self.settings.noise_scale or NOISE_SCALES[self.classes]
            dimensions = given.means.shape[1] if self.classes else 1
            logs = given.log_noise_stds
            prior = prior + heads.noise_prior(logs, self.settings.degrees, scale, dimensions)
        return -bounds - prior / self.stack.batches.rows

    def _bounds(self, phi: Tensor, targets: Tensor, given: Heads) -> Float[Tensor, " members"]:
        of_rows = heads.categorical_bounds if self.classes else heads.gaussian_bounds
        return of_rows(phi, targets, given).mean(1)

    def posteriors(self, problems: Sequence[Problem]) -> list[Posterior | InferenceDiverged]:
        """Return each member's posterior, or its failure."""
        posteriors = [self._posterior(member) for member in range(len(problems))]
        outcomes = self.stack.outcomes(posteriors, torch.cat([self.weights, self.numbers], 1))
        return [
            self._exact(outcome, problem, float(variance))
            if variant.exact and isinstance(outcome, VbllPosterior)
            else outcome
            for outcome, problem, variant, variance in zip(
                outcomes, problems, self.variants, self.prior_variances, strict=True
            )
        ]

    def _posterior(self, member: int) -> VbllPosterior:
        rows = slice(member, member + 1)
        of_member = self.heads_of(self.numbers[rows].double())
        return VbllPosterior(
            self.body.network,
            # Separate memory: products round as if fitted one at a time.
            self.weights[rows].clone(),
            self.stack.buffers[rows].clone(),
            self.body.last.bias,
            self.stack.likelihood,
            of_member.means[0].clone(),
            of_member.factors[0],
            of_member.log_noise_stds[0].exp(),
            self.variants[member].draws,
            self.variants[member].joint,
        )

    def _exact(self, posterior: VbllPosterior, problem: Problem, variance: float) -> VbllPosterior:
        """Return a regression's posterior with the exact last layers for its features and noise."""
        if self.classes:
            return posterior
        phi, targets = posterior.features(problem.train.inputs), problem.train.targets.double()
        exact = [
            heads.exact_head(phi, target, float(std) ** 2, variance)
            for target, std in zip(targets.mT, posterior.noise_stds, strict=True)
        ]
        means, factors = (torch.stack(parts) for parts in zip(*exact, strict=True))
        return replace(posterior, means=means, factors=factors)
