"""Networks trained end to end on the moments of their units instead of samples.

Noise inside the network (dropout, logistic Bernoulli units) and at its inputs enters as a
variance, so that loss and gradient are deterministic for a given batch.

Source: paper 001, equations 18 to 22, 26, 31, 33, 35, 36, 38 to 41, 47, 49, 50 and 52.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.scale_free import scale_free
from bnnbench.methods.fitting.settings import require_between, require_choice
from bnnbench.methods.fitting.training import ObservationNoise, Schedule, Stack, check_descent
from bnnbench.methods.moment_propagation.initialisation import Rescaling, rescale
from bnnbench.methods.moment_propagation.networks import contains, with_analytic_norms, with_dropout
from bnnbench.methods.moment_propagation.posterior import MomentPosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import Formulas, alone, moment_rules, with_variance
from bnnbench.methods.moments.units.softmax import Softmax, log_probabilities
from bnnbench.methods.networks.architectures import Architecture, LogisticBernoulli
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.tuning.space import Log, Space

Mode = Literal["ap2", "sample", "ap1"]
"""Propagated quantities: moments, samples, or only means."""


@dataclass(frozen=True)
class MomentPropagation(Stacked):
    """One weight vector, trained by Adam; for regression, with a learned noise variance."""

    card: ClassVar[Card] = Card("moments")
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(1e-4, 1e-1), "dropout": Log(1e-2, 0.5)}, length="epochs"
    )

    learning_rate: float = 1e-3
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = "exponential"
    training: Mode = "ap2"
    """Quantities propagated in training: means and variances (ap2), only means (ap1), or
    samples.
    """
    prediction: Literal["ap2", "ap1"] = "ap2"
    """Quantities propagated in a prediction: means and variances (ap2), or only means (ap1)."""
    dropout: float = 0.2
    """Dropout rate after every activation; 0 adds no dropout."""
    input_variance: float = 0.0
    """Variance of independent noise assumed at every input, in training and prediction."""
    norm: Literal["none", "ap2"] = "none"
    """"ap2" puts an AnalyticNorm after every layer with weights, instead of its bias."""
    initialisation: Rescaling = "none"
    formulas: Formulas = Formulas()

    def __post_init__(self) -> None:
        check_descent(self)
        require_choice(self, "training", get_args(Mode))
        require_choice(self, "prediction", ("ap2", "ap1"))
        require_choice(self, "norm", ("none", "ap2"))
        require_choice(self, "initialisation", get_args(Rescaling))
        require_between(self, 0.0, 1.0, "dropout")
        require_between(self, 0.0, math.inf, "input_variance")

    def network_of(self, architecture: Architecture) -> Architecture:
        """Return the trained network, including this method's norms and dropout."""
        normed = with_analytic_norms(architecture) if self.norm == "ap2" else architecture
        return with_dropout(normed, self.dropout) if self.dropout else normed

    def warm_up(self, problem: Problem) -> None:
        """Compile the moments of the network's units and their gradients."""
        fit_first_rows(replace(self, epochs=1), problem)

    @scale_free
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        architecture = self.network_of(problems[0].architecture)
        if self.training == "sample" and contains(architecture, LogisticBernoulli):
            raise Unsupported(
                "needed units whose samples have a gradient; got LogisticBernoulli, which needs "
                'training="ap2"'
            )
        rules = moment_rules(self.formulas) if self.training == "ap2" else None
        stack = Stack(problems, rngs, self.batch_size, architecture, rules)
        rescale(stack.network, stack.weights, problems, rngs, self.initialisation)
        weights = stack.weights.requires_grad_()
        optimiser = torch.optim.Adam([weights], lr=self.learning_rate, fused=weights.is_cuda)

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            loss = self._loss(stack, weights, inputs, targets)
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()
            return loss.detach()

        stack.run(self.epochs, step, optimiser, self.schedule)
        stack.weights = weights.detach()
        return stack.outcomes([self._posterior(stack, m) for m in range(len(problems))])

    def _loss(
        self,
        stack: Stack,
        weights: Float[Tensor, "members parameters"],
        inputs: Float[Tensor, "members batch *features"],
        targets: Shaped[Tensor, "members batch *target"],
    ) -> Float[Tensor, " members"]:
        """Return each member's mean negative log likelihood of the batch, in nats."""
        if self.training == "ap1":
            return stack.loss(weights, inputs, targets, noise="off")
        if self.training == "sample":
            if self.input_variance:
                noise = normal(stack.rngs, *inputs.shape[1:], dtype=inputs.dtype)
                inputs = inputs + math.sqrt(self.input_variance) * noise
            return stack.loss(weights, inputs, targets)
        x = with_variance(inputs, self.input_variance)
        y = stack.network(weights, x, buffers=stack.buffers, training=True, rngs=stack.rngs)
        if stack.noise is None:
            return cross_entropy(y, targets, self.formulas.softmax)
        return gaussian_loss(y, targets, stack.noise)

    def _posterior(self, stack: Stack, member: int) -> Posterior:
        network = TorchNetwork(stack.network.architecture, stack.network.input_shape)
        trained = replace(stack.posterior(member), network=network)
        if self.prediction == "ap1":
            return trained
        return MomentPosterior(
            trained,
            formulas=self.formulas,
            input_variance=self.input_variance,
            diagnostics=trained.diagnostics,
        )


def cross_entropy(
    y: Moments, targets: Int[Tensor, "members batch"], rule: Softmax
) -> Float[Tensor, " members"]:
    """Return each member's mean of -log q(class) over the batch."""
    log_probs = torch.cat([log_probabilities(member, rule) for member in alone(y)])
    return -log_probs.gather(2, targets.unsqueeze(2)).squeeze(2).mean(1)


def gaussian_loss(
    y: Moments, targets: Float[Tensor, "members batch outputs"], noise: ObservationNoise
) -> Float[Tensor, " members"]:
    """Return each member's mean of -log N(y; m, v + noise variance), and learn the noise.

    The noise variance is moved to the average of its expected squared share in the residual. The
    fixed point maximises the likelihood (Dempster, Laird and Rubin, 1977).
    """
    squares = (y.mean - targets).square()
    spread = torch.zeros_like(squares) if y.variance is None else y.variance
    with torch.no_grad():
        share = noise.variance[:, None, None] / (spread + noise.variance[:, None, None])
        expected = share.square() * squares + share * spread
        noise.update(expected.flatten(1).mean(1), targets.shape[1])
    total = spread + noise.variance[:, None, None]
    density = 0.5 * (squares / total + (2 * math.pi * total).log())
    return targets.shape[-1] * density.flatten(1).mean(1)
