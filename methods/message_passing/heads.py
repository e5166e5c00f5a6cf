"""Likelihoods at the network's outputs: messages from targets, and predictions."""

from dataclasses import dataclass, replace
from math import log
from types import ModuleType
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.methods.message_passing.factors import argmax, regression, softmax
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)

Noise = Float[Tensor, "members outputs 2"]
"""Shape and rate of a Gamma, or the increments that messages add to them."""


@runtime_checkable
class Head(Protocol):
    """A likelihood at the network's outputs.

    Its parameters are stored like weights: a prior, and the increments of every batch.
    """

    @property
    def prior(self) -> Noise | None:
        """The parameters before any batch; None if nothing is learned."""
        ...

    def open(
        self,
        targets: Shaped[Tensor, "members examples *target"],
        rest: Noise | None,
        kernels: ModuleType,
    ) -> None:
        """Begin a visit; `rest` has the parameters given the prior and the other batches."""
        ...

    def message(self, z: Gaussian, rows: slice) -> Gaussian:
        """Return the messages of some examples' targets to the outputs."""
        ...

    def loss(self, z: Gaussian, rows: slice) -> Float[Tensor, " members"]:
        """Return the sum of -log p(target), before the targets' messages are included."""
        ...

    def misfit(self, z: Gaussian, loss: Float[Tensor, " members"]) -> Float[Tensor, " members"]:
        """Return all examples' error as a multiple of an uninformed prediction's.

        `loss` is the loss of those examples.
        """
        ...

    def added(self) -> Noise | None:
        """Return the batch's increments, given the outputs of the last messages."""
        ...

    def of_members(self, index: Tensor) -> "Head":
        """Return the head of some members."""
        ...

    def predictive(self, z: Gaussian, learned: Noise | None) -> Predictive:
        """Return the prediction of one member from the messages to its outputs."""
        ...

    def predictive_of_draws(
        self, outputs: Float[Tensor, "draws points outputs"], learned: Noise | None
    ) -> Predictive:
        """Return the mixture over networks with fixed weights."""
        ...


@dataclass
class Classification:
    """Noisy argmax, with regularising messages in training, or softmax."""

    noise_variance: float = 0.3
    target_variance: float | None = 0.1
    softmax: bool = False
    largest: bool = False
    """True: argmax predicts with `argmax.log_largest` instead of treating pairs as independent."""
    predictive_variance: float | None = None
    """Replaces `noise_variance` in argmax predictions; None: no change."""

    @property
    def prior(self) -> None:
        """None, as nothing is learned."""

    def open(self, targets: Tensor, rest: Noise | None, kernels: ModuleType) -> None:
        """Begin a visit."""
        self._labels, self._kernels = targets, kernels

    def message(self, z: Gaussian, rows: slice) -> Gaussian:
        """Return the messages of the labels."""
        labels = self._labels[:, rows]
        if self.softmax:
            return softmax.backward(z, labels)
        return self._kernels.argmax_backward(z, labels, self.noise_variance, self.target_variance)

    def loss(self, z: Gaussian, rows: slice) -> Tensor:
        """Return the sum of -log p(label)."""
        if self._kernels.FUSED and not self.softmax:
            return self._kernels.argmax_loss(z, self._labels[:, rows], self.noise_variance).sum(1)
        # As in training; the integral would take a fifth of the visit.
        trained = replace(self, largest=False, predictive_variance=None)
        log_probs = trained.log_probabilities(z.mean, z.variance)
        return -log_probs.gather(-1, self._labels[:, rows].unsqueeze(-1)).sum((1, 2))

    def misfit(self, z: Gaussian, loss: Tensor) -> Tensor:
        """Return the log loss divided by the log loss of equal probabilities."""
        _, examples, classes = z.shape
        return loss / (examples * log(classes))

    def added(self) -> None:
        """Return None, as nothing is learned."""

    def of_members(self, index: Tensor) -> "Classification":
        """Return a head with the same settings."""
        return replace(self)

    def log_probabilities(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Return the log probabilities of the classes, along the last axis."""
        if self.softmax:
            return softmax.log_probabilities(mean, variance)
        noise = self.predictive_variance or self.noise_variance
        if self.largest:
            return argmax.log_largest(mean, variance, noise)
        return argmax.log_probabilities(mean, variance, noise)

    def predictive(self, z: Gaussian, learned: Noise | None) -> Predictive:
        """Return class probabilities."""
        return CategoricalPredictive(self.log_probabilities(z.mean.double(), z.variance.double()))

    def predictive_of_draws(self, outputs: Tensor, learned: Noise | None) -> Predictive:
        """Return the mixture over networks with fixed weights, `draws points outputs`."""
        return CategoricalPredictive(self.log_probabilities(outputs, torch.zeros_like(outputs)))


@dataclass
class Regression:
    """Gaussian noise with a known variance, or with a Gamma over each output's noise precision.

    The precision's mean enters the messages to the outputs, and the outputs' marginals enter
    the message to the precision: variational message passing (Winn and Bishop, 2005).
    """

    variance: Float[Tensor, "members outputs"] | None
    prior: Noise | None

    def open(self, targets: Tensor, rest: Noise | None, kernels: ModuleType) -> None:
        """Begin a visit."""
        self._targets, self._rest = targets, rest
        self._now, self._pieces = rest, {}

    def message(self, z: Gaussian, rows: slice) -> Gaussian:
        """Return the messages of the targets."""
        targets = self._targets[:, rows]
        sent = regression.backward(targets, self._variances(self._now).expand_as(targets))
        if self._rest is not None:
            marginal = z * sent
            self._pieces[rows.start] = _message_to_precisions(targets, marginal)
            self._now = self._rest + torch.stack(tuple(self._pieces.values())).sum(0)
        return sent

    def loss(self, z: Gaussian, rows: slice) -> Tensor:
        """Return the sum of -log N(target; mean, variance + noise)."""
        variance = z.variance + self._variances(self._now)
        square = (self._targets[:, rows] - z.mean).square()
        return 0.5 * (square / variance + (2 * torch.pi * variance).log()).sum((1, 2))

    def misfit(self, z: Gaussian, loss: Tensor) -> Tensor:
        """Return the mean squared error divided by the error of predicting 0.

        The scale of targets should be that of standardised ones or larger. The loss is not used: it
        depends on the noise, and is large if the noise is small.
        """
        error = (self._targets - z.mean).square().mean((1, 2))
        return error / self._targets.square().mean((1, 2)).clamp_min(1.0)

    def added(self) -> Noise | None:
        """Return the increments that the batch adds to shape and rate."""
        return None if self._rest is None else torch.stack(tuple(self._pieces.values())).sum(0)

    def of_members(self, index: Tensor) -> "Regression":
        """Return the head of some members."""
        variance = None if self.variance is None else self.variance[index]
        return Regression(variance, None if self.prior is None else self.prior[index])

    def predictive(self, z: Gaussian, learned: Noise | None) -> Predictive:
        """Return the distribution of the targets, noise included."""
        noise = self._expected_variances(learned)
        return GaussianPredictive(z.mean.double(), z.variance.double() + noise)

    def predictive_of_draws(self, outputs: Tensor, learned: Noise | None) -> Predictive:
        """Return the mixture over networks with fixed weights, `draws points outputs`."""
        noise = self._expected_variances(learned).expand_as(outputs)
        return GaussianPredictive(outputs.double(), noise)

    def _variances(self, noise: Noise | None) -> Tensor:
        """Return the inverse of expected precisions, `members 1 outputs`."""
        if self.variance is not None:
            return self.variance[:, None]
        assert noise is not None
        return (noise[..., 1] / noise[..., 0])[:, None]

    def _expected_variances(self, noise: Noise | None) -> Tensor:
        """Return expected noise variances, `members 1 outputs`."""
        if noise is None:
            return self._variances(None).double()
        shape, rate = noise.double().unbind(-1)
        return regression.Gamma(shape.flatten(), rate.flatten()).mean_variance.view_as(shape)[
            :, None
        ]


def _message_to_precisions(targets: Tensor, z: Gaussian) -> Noise:
    """Return the increments that the rows add to the Gamma of every member and output."""
    columns = [x.mT.flatten(0, 1).unsqueeze(-1) for x in (targets, z.tau, z.rho)]
    added = regression.message_to_precision(columns[0], Gaussian(columns[1], columns[2]))
    members, _, outputs = targets.shape
    return torch.stack((added.shape, added.rate), -1).unflatten(0, (members, outputs))
