"""The functions of an epistemic network at draws of its index."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import require_classifier
from bnnbench.methods.epinet.networks import PriorNetworks, epinet_outputs, prior_outputs
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE, NetworkPosterior
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)


@dataclass(frozen=True)
class EpinetPosterior:
    """A base network, its epinet and prior networks; a draw is the function of one index."""

    base: NetworkPosterior
    """The base network alone."""
    body: TorchNetwork | None
    """The base's layers before the last; None for a network of a single layer."""
    epinet: TorchNetwork
    weights: Float[Tensor, "1 parameters"]
    """The epinet's weights."""
    priors: PriorNetworks
    prior_scale: float
    draws: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return self.base.diagnostics

    @torch.no_grad()
    def predict(self, inputs: Float[Tensor, "points features"], rng: torch.Generator) -> Predictive:
        """Return the mixture over indices; an index is the same at every point."""
        outputs, added = self._outputs(inputs, rng)
        if isinstance(self.base.likelihood, Categorical):
            return CategoricalPredictive((outputs + added).log_softmax(-1))
        means, noise = outputs, self.base.noise_variance
        variances = torch.full_like(means, noise or 0.0)
        if noise is None:
            means, variances = outputs.chunk(2, -1)
        means = means + added
        return GaussianPredictive(means, variances.expand_as(means).contiguous())

    def log_probs(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over indices, with gradient."""
        require_classifier(self.base.likelihood)
        outputs, added = self._outputs(inputs, rng)
        log_probs = (outputs + added).double().log_softmax(-1)
        return log_probs.logsumexp(0) - math.log(self.draws)

    def _outputs(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> tuple[Float[Tensor, "1 points both"], Float[Tensor, "draws points outputs"]]:
        """Return outputs of the base, and what each index adds to them."""
        (indices,) = normal([rng], self.draws, len(self.priors.weights), dtype=inputs.dtype)
        parts = [self._part(points, indices[None]) for points in inputs.split(POINTS_AT_ONCE)]
        outputs, added = (torch.cat(pieces, 1) for pieces in zip(*parts, strict=True))
        return outputs, added

    def _part(
        self, inputs: Float[Tensor, "points features"], indices: Tensor
    ) -> tuple[Tensor, Tensor]:
        base, points = self.base, inputs[None]
        outputs = base.network(base.weights, points, buffers=base.buffers)
        known = with_hidden(self.body, base.weights, points, base.buffers)
        added = epinet_outputs(self.epinet, self.weights, known, indices)
        prior = prior_outputs(self.priors(inputs)[None], indices)
        return outputs, (added + self.prior_scale * prior)[0].movedim(1, 0)


def with_hidden(
    body: TorchNetwork | None,
    weights: Float[Tensor, "members parameters"],
    inputs: Float[Tensor, "members points features"],
    buffers: Float[Tensor, "members buffers"],
) -> Float[Tensor, "members points known"]:
    """Return each point's last hidden vector, if there is a hidden layer, and its inputs."""
    if body is None:
        return inputs
    hidden = body(weights[:, : body.parameter_count].contiguous(), inputs, buffers=buffers)
    return torch.cat([hidden, inputs], -1)
