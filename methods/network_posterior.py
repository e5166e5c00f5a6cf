"""Weight vectors of a network as a posterior, and how they predict."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from datasets.base import Categorical, Likelihood
from methods.architectures import Architecture, Conv2d, Residual
from methods.predictive import CategoricalPredictive, GaussianPredictive, Predictive, mixture
from methods.randomness import normal
from methods.torch_network import TorchNetwork

POINTS_AT_ONCE = 500
WEIGHTS_AT_ONCE = 2**24
"""Of all draws together, to bound memory."""


@dataclass(frozen=True)
class NetworkPosterior:
    """Weight vectors, one per draw, and the observation noise that they share."""

    network: TorchNetwork
    likelihood: Likelihood
    weights: Float[Tensor, "draws parameters"]
    buffers: Float[Tensor, "draws buffers"]
    noise_variance: float | None
    """In squared standardised target units; None for a classifier."""
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
        assert self.noise_variance is not None
        variances = torch.full_like(logits_or_means, self.noise_variance)
        return GaussianPredictive(logits_or_means, variances)


@dataclass(frozen=True)
class DiagonalGaussianPosterior:
    """An independent Gaussian over every weight, of which `draws` samples predict.

    No draws: the prediction is that of the mean.
    """

    at_mean: NetworkPosterior
    std: Float[Tensor, " parameters"]
    draws: int
    details: dict[str, float] = field(default_factory=dict)

    @property
    def diagnostics(self) -> dict[str, float]:
        """What the fit says about itself."""
        return self.at_mean.diagnostics | {"mean_weight_std": float(self.std.mean())} | self.details

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over weight draws, or the prediction at the mean for no draws."""
        if not self.draws:
            return self.at_mean.predict(inputs, rng)
        (mean,) = self.at_mean.weights
        at_once = draws_at_once(self.at_mean.network)
        parts = []
        for start in range(0, self.draws, at_once):
            draws = min(at_once, self.draws - start)
            (noise,) = normal([rng], draws, len(mean), dtype=mean.dtype)
            parts.append(self.at_mean.predict_with(mean + self.std * noise, inputs))
        return mixture(parts)


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

    `seeds`, one per draw, name the random choices that a draw makes at every point alike;
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


def _generators(seeds: Sequence[int], device: torch.device) -> list[torch.Generator]:
    return [torch.Generator(device).manual_seed(seed) for seed in seeds]


def draws_at_once(network: TorchNetwork) -> int:
    """Return how many weight vectors to evaluate side by side."""
    if convolves(network.architecture):
        return 1
    return max(1, WEIGHTS_AT_ONCE // max(1, network.parameter_count))


def convolves(architecture: Architecture) -> bool:
    """Return whether the network is convolutional, so that stacking members gains nothing."""
    return any(
        isinstance(layer, Conv2d)
        or (isinstance(layer, Residual) and convolves(layer.body + layer.shortcut))
        for layer in architecture
    )
