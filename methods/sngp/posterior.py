"""The posterior of a Gaussian process layer over the features of a trained network."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.networks.own_network import NetworkDescription
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.sngp.features import (
    RandomFeatures,
    covariance_roots,
    mean_field,
    precisions,
    variances,
)


@dataclass(frozen=True)
class SngpPosterior:
    """Independent Gaussians over the last weights of each class, given random features."""

    features: RandomFeatures
    means: Float[Tensor, "classes features"]
    biases: Float[Tensor, " classes"]
    roots: Float[Tensor, "classes features features"]
    """R of each class, with R Rᵀ the covariance of its weights."""
    mean_field_factor: float
    draws: int

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """The largest spectral norm of a residual block's matrix."""
        return {"spectral_norm": self.features.largest_norm()}

    @property
    def own_network(self) -> NetworkDescription:
        """The residual network with random features, in place of the problem's architecture."""
        (classes, count), body = self.means.shape, self.features.body
        learned = body.parameter_count + classes * (count + 1)
        structure = f"{body.architecture}, {count} random features, {classes} classes"
        return NetworkDescription("residual network with random features", learned, structure)

    @torch.no_grad()
    def with_covariance(
        self, inputs: Float[Tensor, "points *inputs"], ridge: float
    ) -> "SngpPosterior":
        """Return the posterior with the covariances of its weights, given all training rows."""
        phi = self.features(inputs)
        shares = (phi @ self.means.mT + self.biases).double().softmax(-1)
        roots = covariance_roots(precisions(phi.double(), shares * (1 - shares), ridge))
        return replace(self, roots=roots.to(phi))

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> CategoricalPredictive:
        """Return the mean-field prediction, or a mixture over draws of the last weights."""
        return CategoricalPredictive(self._log_probs_of_draws(inputs, rng))

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities, with gradient."""
        of_draws = self._log_probs_of_draws(inputs, rng).double()
        return of_draws.logsumexp(0) - math.log(len(of_draws))

    def _log_probs_of_draws(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "draws points classes"]:
        """Return log probabilities; a single draw for the mean-field prediction."""
        features = self.features(inputs)
        if self.draws:
            return (features @ self._weights(rng).mT + self.biases).log_softmax(-1)
        logits, spread = features @ self.means.mT + self.biases, variances(features, self.roots)
        return mean_field(logits, spread, self.mean_field_factor).log_softmax(-1)[None]

    def _weights(self, rng: torch.Generator) -> Float[Tensor, "draws classes features"]:
        (normals,) = normal([rng], self.draws, *self.means.shape, dtype=self.means.dtype)
        return self.means + (self.roots @ normals.unsqueeze(-1)).squeeze(-1)
