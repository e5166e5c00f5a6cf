r"""Deep evidential regression: a network outputs the parameters of a prior of mean and variance.

With outputs $\gamma$, and $\nu$, $\alpha - 1$ and $\beta$ as softplus of outputs plus 1e-6, a
target has Student's t distribution with $2\alpha$ degrees of freedom, location $\gamma$ and squared
scale $\beta (1 + \nu) / (\nu\alpha)$. The loss of a row is, with $\Omega = 2\beta(1 + \nu)$,

$$ \tfrac12 \log\tfrac{\pi}{\nu} - \alpha \log\Omega
   + (\alpha + \tfrac12) \log((y - \gamma)^2 \nu + \Omega)
   + \log\tfrac{\Gamma(\alpha)}{\Gamma(\alpha + 1/2)}
   + \lambda |y - \gamma| (2\nu + \alpha). $$

λ multiplies an error in units of the target, so that targets are standardised; the code of the
source has λ = 1, its experiments 0.01. The likelihood depends on ν and β only through the scale:
its split into aleatoric and epistemic variance is set by λ and the start (Meinert, Gawlikowski and
Lavin, 2023, "The Unreasonable Effectiveness of Deep Evidential Regression"), so that the posterior
only predicts the sum.

Source: Amini, Schwarting, Soleimany and Rus (2020), "Deep Evidential Regression".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.network_posterior import outputs
from bnnbench.methods.fitting.optimisers import Adam, column
from bnnbench.methods.fitting.settings import require_between
from bnnbench.methods.fitting.targets import target_units
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent
from bnnbench.methods.networks.architectures import Architecture, Linear
from bnnbench.methods.networks.heteroscedastic import softplus
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.methods.tuning.space import Log, Space

SMALLEST = 1e-6

Parameters = Float[Tensor, "members points outputs"]


@dataclass(frozen=True)
class EvidentialPosterior:
    """One weight vector, and the units of its standardised targets."""

    network: TorchNetwork
    weights: Float[Tensor, "1 parameters"]
    buffers: Float[Tensor, "1 buffers"]
    mean: Float64[Tensor, " outputs"]
    std: Float64[Tensor, " outputs"]
    diagnostics: dict[str, float] = field(default_factory=dict)

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> StudentPredictive:
        """Return the Student t distribution of each point; the stream is not used."""
        raw = outputs(self.network, self.weights, inputs, self.buffers)
        location, nu, alpha, beta = evidence(raw.double())
        scale = (beta * (1 + nu) / (nu * alpha)).sqrt()
        mean, std = self.mean.to(inputs.device), self.std.to(inputs.device)
        return StudentPredictive(location, scale, 2 * alpha).rescaled(mean, std)


@dataclass(frozen=True)
class Evidential(Variants):
    """A point estimate of the parameters of a normal-inverse-gamma distribution at each input."""

    card: ClassVar[Card] = Card("point estimates", problems=("mlp regression", "cnn regression"))
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(3e-4, 1e-1),
            "weight_decay": Log(1e-4, 3.0),
            "regularisation": Log(1e-3, 1.0),
        },
        length="epochs",
    )
    per_member: ClassVar = ("learning_rate", "weight_decay", "regularisation", "epochs")

    learning_rate: float = 3e-3
    weight_decay: float = 1e-2
    regularisation: float = 0.01
    """Weight λ of the absolute error times the evidence 2ν + α."""
    epochs: int = 100
    batch_size: int = 32
    schedule: Schedule = "cosine"

    def __post_init__(self) -> None:
        check_descent(self)
        require_between(self, 0.0, math.inf, "weight_decay", "regularisation")

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Evidential]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem."""
        first = variants[0]
        architecture = four_outputs(problems[0])
        units = [target_units(problem) for problem in problems]
        standardised = [_standardised(p, *unit) for p, unit in zip(problems, units, strict=True)]
        stack = Stack(standardised, rngs, first.batch_size, architecture)
        rates, decays = (
            [getattr(variant, name) for variant in variants]
            for name in ("learning_rate", "weight_decay")
        )
        optimiser = Adam([stack.weights], rates, decays)
        regularisation = column([v.regularisation for v in variants], stack.weights)

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            members = len(inputs)
            weights, buffers = stack.weights[:members], stack.buffers[:members]
            weights = weights.detach().requires_grad_()
            raw = stack.network(weights, inputs, buffers=buffers, training=True, rngs=stack.streams)
            loss = losses(raw, targets, regularisation[:members]).mean(1)
            optimiser.step(*torch.autograd.grad(loss.sum(), weights))
            return loss.detach()

        stack.run([v.epochs for v in variants], step, optimiser, first.schedule)
        return stack.outcomes([_posterior(stack, m, *unit) for m, unit in enumerate(units)])


def four_outputs(problem: Problem) -> Architecture:
    """Return the architecture with four outputs per target.

    Raises `Unsupported` for classes, known noise, and a network that ends in another layer than a
    linear one.
    """
    if problem.likelihood != Gaussian(None):
        raise Unsupported(f"needed a regression of unknown noise; got {problem.likelihood}")
    *before, last = problem.architecture
    if not isinstance(last, Linear):
        raise Unsupported(f"needed a network that ends in a linear layer; got {last}")
    return (*before, replace(last, outputs=4 * last.outputs))


def evidence(
    raw: Float[Tensor, "members points four"],
) -> tuple[Parameters, Parameters, Parameters, Parameters]:
    """Return γ, ν, α and β, given the network's outputs."""
    location, nu, alpha, beta = raw.chunk(4, -1)
    positive = (softplus(part) + SMALLEST for part in (nu, alpha, beta))
    nu, alpha, beta = positive
    return location, nu, 1 + alpha, beta


def losses(
    raw: Float[Tensor, "members points four"],
    targets: Float[Tensor, "members points outputs"],
    regularisation: Float[Tensor, "members 1"],
) -> Float[Tensor, "members points"]:
    """Return the loss of each row, given the network's outputs (eqs. 8 to 10)."""
    location, nu, alpha, beta = evidence(raw)
    error = targets - location
    log_loss = negative_log_likelihood(error, nu, alpha, beta)
    return (log_loss + regularisation[..., None] * error.abs() * (2 * nu + alpha)).sum(-1)


def negative_log_likelihood(
    error: Parameters, nu: Parameters, alpha: Parameters, beta: Parameters
) -> Parameters:
    """Return minus the log density of Student's t at an error y - γ, in nats (eq. 8)."""
    omega = 2 * beta * (1 + nu)
    return (
        0.5 * (math.pi / nu).log()
        - alpha * omega.log()
        + (alpha + 0.5) * (error.square() * nu + omega).log()
        + alpha.lgamma()
        - (alpha + 0.5).lgamma()
    )


def _standardised(problem: Problem, mean: Tensor, std: Tensor) -> Problem:
    targets = problem.train.targets
    values = (targets.double() - mean.to(targets.device)) / std.to(targets.device)
    return replace(problem, train=replace(problem.train, targets=values.to(targets)))


def _posterior(stack: Stack, member: int, mean: Tensor, std: Tensor) -> Posterior:
    one = slice(member, member + 1)
    return EvidentialPosterior(stack.network, stack.weights[one], stack.buffers[one], mean, std)
