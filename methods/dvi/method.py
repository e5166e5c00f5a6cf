r"""Deterministic variational inference (DVI): no weight is ever drawn.

The posterior of every weight is an independent Gaussian. Means and covariances of all units follow
from those of the weights, and so does the expected log likelihood of each target. The evidence
lower bound of a batch and its gradient are therefore exact, not estimates. The prior variance of
each layer is the best one for the posterior (`bnnbench.methods.dvi.prior`).

Units of the first layer are independent given the input, and their rectifiers are exact; units of
later layers are treated as jointly normal before a rectifier.

Source: Wu et al. (2019), "Deterministic Variational Inference for Robust Bayesian Neural
Networks".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.dvi.likelihood import MeanAndLogVariance, expected_losses, expected_squares
from bnnbench.methods.dvi.posterior import DviPosterior
from bnnbench.methods.dvi.prior import InverseGamma, LayerwisePrior
from bnnbench.methods.dvi.propagation import Covariance, propagation_rules, require_covered
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.scale_free import scale_free
from bnnbench.methods.fitting.settings import require_choice, require_count, require_positive
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.networks.heteroscedastic import widened
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Dvi(Stacked):
    """DVI of dense regression networks, by Adam on means and log standard deviations.

    If `heteroscedastic`, a second output learns the log variance of each target; otherwise one
    noise variance is learned as the expected squared residual. Known noise is not changed.
    """

    card: ClassVar[Card] = Card("variational", problems=("mlp regression", "linear regression"))
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(1e-3, 5e-2),
            "hyperprior.rate": Log(1.0, 1000.0),
            "initial_std": Log(3e-4, 0.1),
        },
        length="epochs",
    )

    learning_rate: float = 1e-2
    hyperprior: InverseGamma = field(default_factory=InverseGamma)
    """Hyperprior of each layer's prior variance."""
    initial_std: float = 0.05
    heteroscedastic: bool = True
    covariance: Covariance = "full"
    """Propagated covariances of units: all, or only variances."""
    order: int = 3
    """Number of terms in the expansion that propagates covariances through rectifiers."""
    epochs: int = 100
    batch_size: int = 128
    schedule: Schedule = "cosine"

    def __post_init__(self) -> None:
        check_descent(self)
        require_positive(self, "initial_std")
        require_choice(self, "covariance", get_args(Covariance))
        require_count(self, "order")

    def warm_up(self, problem: Problem) -> None:
        """Compile the moments of the network's units, and their gradients."""
        fit_first_rows(replace(self, epochs=1), problem)

    @scale_free
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        likelihood, architecture = problems[0].likelihood, problems[0].architecture
        if not isinstance(likelihood, Gaussian):
            raise Unsupported(f"needed a regression for DVI; got {likelihood}")
        require_covered(architecture)
        two_outputs = self.heteroscedastic and likelihood.noise_std is None
        stack = Stack(
            problems,
            rngs,
            self.batch_size,
            widened(architecture) if two_outputs else architecture,
            propagation_rules(self.covariance, self.order),
        )
        if two_outputs:
            stack.noise = None
        prior = LayerwisePrior.of(stack.network.parameters, self.hyperprior)
        mean = stack.weights.requires_grad_()
        log_std = torch.full_like(mean, math.log(self.initial_std)).requires_grad_()
        optimiser = torch.optim.Adam([mean, log_std], lr=self.learning_rate, fused=mean.is_cuda)
        rows = stack.batches.rows

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            std = log_std.exp()
            loss = expected_loss(stack, (mean, std), inputs, targets)
            loss = loss + prior.penalty(mean, std) / rows
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()
            return loss.detach()

        stack.run(self.epochs, step, optimiser, self.schedule)
        stack.weights, std = mean.detach(), log_std.detach().exp()
        posteriors = [self._posterior(stack, prior, std, m) for m in range(len(problems))]
        return stack.outcomes(posteriors, std)

    def _posterior(self, stack: Stack, prior: LayerwisePrior, std: Tensor, m: int) -> DviPosterior:
        member = slice(m, m + 1)
        mean, member_std = stack.weights[member], std[member]
        noise = float(stack.noise.variance[m]) if stack.noise else None
        details = {"kl_per_row": float(prior.kl(mean, member_std)) / stack.batches.rows}
        details |= {
            f"prior_std_{layer}": math.sqrt(variance) if variance >= 0 else math.nan
            for layer, variance in enumerate(prior.variances(mean, member_std)[0].tolist())
        }
        if noise is not None:
            details["noise_std"] = math.sqrt(noise)
        plain = TorchNetwork(stack.network.architecture, stack.network.input_shape)
        return DviPosterior(
            plain, mean[0], member_std[0], noise, self.covariance, self.order, details
        )


def expected_loss(
    stack: Stack,
    weights: tuple[Float[Tensor, "members parameters"], Float[Tensor, "members parameters"]],
    inputs: Float[Tensor, "members batch *features"],
    targets: Float[Tensor, "members batch outputs"],
) -> Float[Tensor, " members"]:
    """Return each member's mean of -E[log likelihood], in nats; update its own noise."""
    y = stack.network(weights, Moments(inputs))
    if stack.noise is None:
        return MeanAndLogVariance.of(y).expected_losses(targets).mean(1)
    squares = expected_squares(y, targets)
    stack.noise.update(squares.detach().flatten(1).mean(1), targets.shape[1])
    return expected_losses(squares, stack.noise.variance).mean(1)
