r"""Predictions of a network that is linear in its weights around a point estimate.

$f(x) = f_*(x) + J(x) (w - w_*)$ has a Gaussian posterior if w has one. For a regression this gives
a Gaussian. For a classifier, probits replace the softmax, or draws of the linear network are
averaged. Each such draw is a function of the input, like a draw of the weights.

Sources: Khan et al. (2019), "Approximate Inference Turns Deep Networks into Gaussian Processes";
Immer, Korzepa and Bauer (2021), "Improving Predictions of Bayesian Neural Nets via Local
Linearization"; the probits of MacKay (1992), "The Evidence Framework Applied to Classification
Networks", one for each class.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import require_classifier
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.laplace.gauss_newton import Spectrum, points_at_once
from bnnbench.methods.laplace.layer_recorder import Entry
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)

Changes = Callable[[Sequence[Entry]], Tensor]
"""Effect of a Gaussian over weights on the outputs: their variances, or their changes by draw."""


@dataclass(frozen=True)
class LinearisedPosterior:
    """A Gaussian over weights, from which the linearised network predicts."""

    mode: NetworkPosterior
    spectrum: Spectrum
    std: Float[Tensor, " directions"]
    """Standard deviations of the posterior along the eigenvectors of the spectrum."""
    draws: int
    """Number of draws of a classifier's functions; 0 for probits."""
    diagnostics: dict[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return one Gaussian or one categorical per point, or the mixture of draws."""
        classifies = isinstance(self.mode.likelihood, Categorical)
        sampled = classifies and self.draws > 0
        changes = self._sampled(rng) if sampled else self._variances()
        parts = [self._chunk(chunk, changes, False) for chunk in self._chunks(inputs)]
        if classifies:
            logits = torch.cat([self._logits(*part).detach() for part in parts], 1)
            return CategoricalPredictive(logits.log_softmax(-1))
        means = torch.cat([mean for mean, _ in parts])
        assert self.mode.noise_variance is not None
        variances = torch.cat([spread for _, spread in parts]) + self.mode.noise_variance
        return GaussianPredictive(means[None], variances[None])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities, with gradient, in float64."""
        require_classifier(self.mode.likelihood)
        changes = self._sampled(rng) if self.draws else self._variances()
        chunks = self._chunks(inputs)
        # Each chunk's Jacobians are recomputed for its gradient, not stored.
        return torch.cat([
            checkpoint(self._log_probs, chunk, changes, use_reentrant=False,
                       preserve_rng_state=False)
            if len(chunks) > 1
            else self._log_probs(chunk, changes)
            for chunk in chunks
        ])  # fmt: skip

    def _log_probs(self, inputs: Tensor, changes: Changes) -> Tensor:
        logits = self._logits(*self._chunk(inputs, changes, True))
        return logits.double().log_softmax(-1).logsumexp(0) - math.log(len(logits))

    def _chunks(self, inputs: Tensor) -> tuple[Tensor, ...]:
        return inputs.split(
            points_at_once(self.spectrum.recorder, self.mode.network.output_shape[0])
        )

    def _noise(self, rng: torch.Generator) -> Float[Tensor, "draws directions"]:
        """Return draws of the posterior along the eigenvectors, around 0."""
        (noise,) = normal([rng], self.draws, len(self.std), dtype=self.std.dtype)
        return noise.mul_(self.std)

    def _sampled(self, rng: torch.Generator) -> Changes:
        """Return the function from entries to the changes of outputs: draws, points, outputs."""
        noise = self._noise(rng)
        return lambda entries: (self.spectrum.jacobian(entries) @ noise.mT).movedim(-1, 0)

    def _variances(self) -> Changes:
        """Return the function from entries to the outputs' variances: points, outputs."""
        return self.spectrum.output_variances(self.std.square())

    def _chunk(
        self, inputs: Tensor, changes: Changes, differentiable: bool
    ) -> tuple[Float[Tensor, "points outputs"], Float[Tensor, "*draws points outputs"]]:
        """Return the outputs at the mode, and their variances or their changes by draw."""
        recorder = self.spectrum.recorder
        outputs = recorder.outputs(self.mode.weights, self.mode.buffers, inputs)
        identity = torch.eye(outputs.shape[1], dtype=outputs.dtype, device=outputs.device)
        entries = recorder.entries(
            outputs, identity.expand(len(outputs), -1, -1), differentiable=differentiable
        )
        return outputs if differentiable else outputs.detach(), changes(entries)

    def _logits(self, outputs: Tensor, spread: Tensor) -> Float[Tensor, "draws points classes"]:
        if spread.ndim == outputs.ndim:
            return (outputs / (1 + math.pi / 8 * spread).sqrt())[None]
        return outputs + spread
