"""The posterior of Gaussian last layers over fixed features, and its predictions."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import require_classifier
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)

NOISE_DRAWS = 8
"""Draws of a logit's noise for each draw of weights, in antithetic pairs."""


@dataclass(frozen=True)
class VbllPosterior:
    """Gaussian heads, one per output or class, over the features of a trained body."""

    body: TorchNetwork | None
    """The layers before the last; None for a network of a single layer."""
    weights: Float[Tensor, "1 parameters"]
    """The body's weights."""
    buffers: Float[Tensor, "1 buffers"]
    bias: bool
    """True if the features end with a 1."""
    likelihood: Likelihood
    means: Float64[Tensor, "heads features"]
    factors: Float64[Tensor, "heads features features"]
    """Lower triangular factors of the heads' covariances."""
    noise_stds: Float64[Tensor, " heads"]
    draws: int
    joint: bool

    @property
    def diagnostics(self) -> dict[str, float]:
        """The standard deviation of the noise, of the first head."""
        name = "logit_noise_std" if isinstance(self.likelihood, Categorical) else "noise_std"
        return {name: float(self.noise_stds[0])}

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        r"""Return the predictive distribution of each point.

        For regression it is $N(m^T \phi, \phi^T S \phi + s^2)$ or, if `joint`, its mixture over
        draws of the weights.
        """
        if isinstance(self.likelihood, Categorical):
            return CategoricalPredictive(self._class_log_probs(inputs, rng))
        phi, noise = self.features(inputs), self.noise_stds.square()
        if self.joint:
            means = phi @ self._weights(rng).flatten(0, 1).mT
            means = means.unflatten(1, (self.draws, -1)).movedim(1, 0)
            return GaussianPredictive(means, noise.expand_as(means).contiguous())
        spread = (phi @ self.factors).square().sum(-1).mT
        return GaussianPredictive((phi @ self.means.mT)[None], (spread + noise)[None])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float64[Tensor, "points classes"]:
        """Return the log of the mean probabilities over draws, with gradient."""
        require_classifier(self.likelihood)
        return self._class_log_probs(inputs, rng).logsumexp(0) - math.log(self.draws)

    def _class_log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float64[Tensor, "draws points classes"]:
        """Return log probabilities for each draw of weights, averaged over its logit noise.

        A draw's noise is the same at every point, so that a draw is one function.
        """
        weights, noise = self._weights(rng), self._noise(rng)
        phi = self._with_gradient(inputs)
        per_draw = []
        for of_draw, shifts in zip(weights, noise, strict=True):
            noisy = (phi @ of_draw.mT) + shifts.unsqueeze(1)
            per_draw.append(noisy.log_softmax(-1).logsumexp(0) - math.log(NOISE_DRAWS))
        return torch.stack(per_draw)

    def _weights(self, rng: torch.Generator) -> Float64[Tensor, "draws heads features"]:
        """Draw the weights of all heads."""
        (normals,) = normal([rng], self.draws, *self.means.shape, dtype=self.means.dtype)
        return self.means + (self.factors @ normals.unsqueeze(-1)).squeeze(-1)

    def _noise(self, rng: torch.Generator) -> Float64[Tensor, "draws noises heads"]:
        """Draw the noise of the logits, in antithetic pairs."""
        shape = self.draws, NOISE_DRAWS // 2, len(self.means)
        (half,) = normal([rng], *shape, dtype=self.means.dtype)
        return torch.cat([half, -half], 1) * self.noise_stds

    @torch.no_grad()
    def features(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float64[Tensor, "points width"]:
        """Return what the last layer receives at each point."""
        return self._with_gradient(inputs)

    def _with_gradient(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float64[Tensor, "points width"]:
        hidden = inputs
        if self.body is not None:
            parts = [
                self.body(self.weights, points[None], buffers=self.buffers)[0]
                for points in inputs.split(POINTS_AT_ONCE)
            ]
            hidden = torch.cat(parts)
        return functional.pad(hidden.double(), (0, int(self.bias)), value=1.0)
