"""Weight vectors of a network as a posterior, and their predictions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import require_classifier
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.networks.architectures import Architecture, Conv2d, Residual, TorchModule
from bnnbench.methods.networks.heteroscedastic import HeteroscedasticNetwork, states_variance
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
    mixture,
)

POINTS_AT_ONCE = 500
WEIGHTS_AT_ONCE = 2**24
"""Maximum number of weights of all draws evaluated together, to bound memory."""


@dataclass(frozen=True)
class NetworkPosterior:
    """Weight vectors, one per draw, and the observation noise that they share."""

    network: TorchNetwork
    likelihood: Likelihood
    weights: Float[Tensor, "draws parameters"]
    buffers: Float[Tensor, "draws buffers"]
    noise_variance: float | None
    """Noise variance in squared standardised target units; None for a classifier, or if the
    network outputs variances (`bnnbench.methods.networks.heteroscedastic`).
    """
    diagnostics: dict[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over the weight vectors; the stream is not used."""
        return self.predict_with(self.weights, inputs)

    def predict_with(
        self,
        weights: Float[Tensor, "draws parameters"],
        inputs: Float[Tensor, "points *features"],
        **options,
    ) -> Predictive:
        """Return the mixture over other weights of the same network; options as in `outputs`."""
        buffers = self.buffers.expand(len(weights), -1)
        logits_or_means = outputs(self.network, weights, inputs, buffers, **options)
        if isinstance(self.likelihood, Categorical):
            return CategoricalPredictive(logits_or_means.log_softmax(-1))
        if self.noise_variance is None:
            assert isinstance(self.network, HeteroscedasticNetwork) or states_variance(
                self.network.architecture
            )
            mean, variances = logits_or_means.chunk(2, -1)
            return GaussianPredictive(mean, variances)
        variances = torch.full_like(logits_or_means, self.noise_variance)
        return GaussianPredictive(logits_or_means, variances)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities, with gradient; the stream is not used."""
        return self.log_probs_with(self.weights, inputs)

    def log_probs_with(
        self,
        weights: Float[Tensor, "draws parameters"],
        inputs: Float[Tensor, "points *features"],
        seeds: Sequence[int] | None = None,
        **options,
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities under other weights of the same network.

        The result is in float64, with gradient to the inputs; seeds and options as in `outputs`.
        """
        require_classifier(self.likelihood)
        at_once = draws_at_once(self.network)
        several = len(weights) > at_once
        parts = []
        for start in range(0, len(weights), at_once):
            draws = slice(start, start + at_once)
            weights_of_draws = weights[draws]
            buffers = self.buffers.expand(len(weights), -1)[draws]
            block = self.network, weights_of_draws, buffers, seeds and seeds[draws], options, inputs
            # Blocks are recomputed for the gradient, to need only one block's memory.
            parts.append(
                checkpoint(_log_softmax, *block, use_reentrant=False, preserve_rng_state=False)
                if several
                else _log_softmax(*block)
            )
        return torch.cat(parts).logsumexp(0) - math.log(len(weights))


@dataclass(frozen=True)
class DiagonalGaussianPosterior:
    """An independent Gaussian over every weight; a prediction uses `draws` samples of it.

    With no draws, the prediction is at the mean.
    """

    at_mean: NetworkPosterior
    std: Float[Tensor, " parameters"]
    draws: int
    details: dict[str, float] = field(default_factory=dict)

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return self.at_mean.diagnostics | {"mean_weight_std": float(self.std.mean())} | self.details

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over weight draws, or the prediction at the mean for no draws."""
        if not self.draws:
            return self.at_mean.predict(inputs, rng)
        return mixture([self.at_mean.predict_with(draws, inputs) for draws in self._draws(rng)])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over weight draws, with gradient."""
        if not self.draws:
            return self.at_mean.log_probs(inputs, rng)
        return self.at_mean.log_probs_with(torch.cat(list(self._draws(rng))), inputs)

    def _draws(self, rng: torch.Generator) -> Iterator[Float[Tensor, "draws parameters"]]:
        """Yield the weight vectors, in groups that are evaluated side by side."""
        (mean,) = self.at_mean.weights
        at_once = draws_at_once(self.at_mean.network)
        for start in range(0, self.draws, at_once):
            draws = min(at_once, self.draws - start)
            (noise,) = normal([rng], draws, len(mean), dtype=mean.dtype)
            yield mean + self.std * noise


@torch.no_grad()
def outputs(
    network: TorchNetwork,
    weights: Float[Tensor, "draws parameters"],
    inputs: Float[Tensor, "points *features"],
    buffers: Float[Tensor, "draws buffers"],
    seeds: Sequence[int] | None = None,
    **options,
) -> Float[Tensor, "draws points outputs"]:
    """Return the network's outputs for every draw, a few hundred points at a time.

    `seeds`, one per draw, determine the random choices of a draw, which are equal at every point;
    `options` go to the network's call.
    """
    at_once = draws_at_once(network)
    rows = []
    for start in range(0, len(weights), at_once):
        draws = slice(start, start + at_once)
        chunks = []
        for points in inputs.split(POINTS_AT_ONCE):
            rngs = _generators(seeds[draws], inputs.device) if seeds else None
            chunks.append(
                network(weights[draws], points[None], buffers=buffers[draws], rngs=rngs, **options)
            )
        rows.append(torch.cat(chunks, dim=1))
    return torch.cat(rows)


def _log_softmax(
    network: TorchNetwork,
    weights: Float[Tensor, "draws parameters"],
    buffers: Float[Tensor, "draws buffers"],
    seeds: Sequence[int] | None,
    options: Mapping[str, Any],
    inputs: Float[Tensor, "points *features"],
) -> Float[Tensor, "draws points classes"]:
    """Return log probabilities in float64, where even a near-certain class has a gradient."""
    rngs = _generators(seeds, inputs.device) if seeds else None
    logits = network(weights, inputs[None], buffers=buffers, rngs=rngs, **options)
    return logits.double().log_softmax(-1)


def _generators(seeds: Sequence[int], device: torch.device) -> list[torch.Generator]:
    return [torch.Generator(device).manual_seed(seed) for seed in seeds]


def draws_at_once(network: TorchNetwork) -> int:
    """Return the number of weight vectors to evaluate side by side."""
    if convolves(network.architecture):
        return 1
    return max(1, WEIGHTS_AT_ONCE // max(1, network.parameter_count))


def convolves(architecture: Architecture) -> bool:
    """Return whether stacking members gains nothing.

    The network is convolutional, or has a module whose members are computed one by one.
    """
    return any(
        isinstance(layer, Conv2d)
        or (isinstance(layer, TorchModule) and not layer.stacked)
        or (isinstance(layer, Residual) and convolves(layer.body + layer.shortcut))
        for layer in architecture
    )
