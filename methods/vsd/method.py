r"""Variational structured dropout (VSD).

Every dense layer multiplies its inputs by Gaussian factors that Householder reflections correlate
(`noise.py`). The factors are inferred, under the best prior for them; the weights θ are learned
along with them. The evidence lower bound per training row is minus the mean expected loss minus
KL / N.

If a layer's outputs share their factors, these are one vector per layer. If every output has its
own, each column of weights $w = \theta \circ \xi$ has a full-rank Gaussian posterior, and the
divergence sums over all columns.

Source: Nguyen et al. (2021), "Structured Dropout Variational Inference for Bayesian Neural
Networks".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.network_posterior import NetworkPosterior, draws_at_once
from bnnbench.methods.fitting.settings import require_choice, require_count, require_positive
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import Predictive, mixture
from bnnbench.methods.tuning.space import Choice, Log, Space
from bnnbench.methods.vsd.network import Sharing, StructuredNetwork, dense_weights, drawn_weights
from bnnbench.methods.vsd.noise import RotatedNoise, initial_numbers, noises_of


@dataclass(frozen=True)
class VsdPosterior:
    """Weights, and the noise that multiplies them in each draw."""

    trained: NetworkPosterior
    noises: tuple[RotatedNoise, ...]
    sharing: Sharing
    draws: int
    details: dict[str, float] = field(default_factory=dict)

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return self.trained.diagnostics | self.details

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over draws; a draw's factors are the same at every point."""
        return mixture([self.trained.predict_with(part, inputs) for part in self._draws(rng)])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over draws, with gradient."""
        return self.trained.log_probs_with(torch.cat(list(self._draws(rng))), inputs)

    def _draws(self, rng: torch.Generator) -> Iterator[Float[Tensor, "draws parameters"]]:
        network, weights = self.trained.network, self.trained.weights
        parts, at_once = dense_weights(network), draws_at_once(network)
        for start in range(0, self.draws, at_once):
            draws = min(at_once, self.draws - start)
            yield drawn_weights(weights, parts, self.noises, self.sharing, draws, rng)


@dataclass(frozen=True)
class Vsd(Stacked):
    """VSD by Adam, with new factors for every example.

    A prediction averages `draws` weight vectors. A regression's noise variance is learned as the
    expected squared residual under the posterior.
    """

    card: ClassVar[Card] = Card("variational")
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(1e-3, 5e-2),
            "initial_variance": Log(1e-4, 0.3),
            "sharing": Choice(("outputs", "none")),
        },
        length="epochs",
        learned_noise=True,
    )

    learning_rate: float = 1e-2
    reflections: int = 2
    """Number of reflections; 0 is unstructured Gaussian dropout with a learned rate per input."""
    sharing: Sharing = "outputs"
    """Sharing of noise among a layer's outputs."""
    initial_variance: float = 0.01
    """Variance of every factor, around a mean of 1, before the rotation."""
    epochs: int = 40
    batch_size: int = 128
    schedule: Schedule = "cosine"
    draws: int = 32

    def __post_init__(self) -> None:
        check_descent(self)
        require_positive(self, "initial_variance")
        require_choice(self, "sharing", get_args(Sharing))
        require_count(self, "draws")
        require_count(self, "reflections", least=0)

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        first = problems[0]
        stack = Stack(problems, rngs, self.batch_size)
        network = StructuredNetwork(
            first.architecture, first.input_shape, self.reflections, self.sharing
        )
        stack.network = network
        log_alpha, dtype = math.log(self.initial_variance), stack.weights.dtype
        numbers = initial_numbers(network.widths, self.reflections, log_alpha, rngs, dtype)
        weights, numbers = stack.weights.requires_grad_(), numbers.requires_grad_()
        optimiser = torch.optim.Adam(
            [weights, numbers], lr=self.learning_rate, fused=weights.is_cuda
        )

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            loss = stack.loss((weights, numbers), inputs, targets)
            loss = loss + network.kl(numbers) / stack.batches.rows
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()
            return loss.detach()

        stack.run(self.epochs, step, optimiser, self.schedule)
        stack.weights, numbers = weights.detach(), numbers.detach()
        kl = network.kl(numbers) / stack.batches.rows
        plain = TorchNetwork(first.architecture, first.input_shape)
        posteriors = [
            VsdPosterior(
                replace(stack.posterior(m), network=plain),
                noises_of(numbers[m : m + 1], network.widths, self.reflections),
                self.sharing,
                self.draws,
                {"kl_per_row": float(kl[m])},
            )
            for m in range(len(problems))
        ]
        return stack.outcomes(posteriors, numbers)
