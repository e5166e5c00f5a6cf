r"""Mean-field variational inference with local reparametrisation.

The posterior of every weight is an independent Gaussian N(m, s²), and the prior is N(0, p²). The
evidence lower bound per training row is minus the mean expected loss minus KL / N.

Sources: Blundell et al. (2015), "Weight Uncertainty in Neural Networks"; Kingma, Salimans and
Welling (2015), "Variational Dropout and the Local Reparameterization Trick".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.fitting.optimisers import Adam, column
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    FeatureResponseNorm,
    Linear,
    TorchModule,
)
from bnnbench.methods.networks.passes import Parameters, Pass, Rule
from bnnbench.methods.networks.torch_layers import RULES
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Mfvi(Variants):
    """Mean-field VI by Adam on means and log standard deviations.

    A prediction averages `draws` weight vectors; with 0 it uses the posterior mean. A regression's
    noise variance is learned as the expected squared residual under the posterior.
    """

    card: ClassVar[Card] = Card("variational")
    of_predictions: ClassVar = ("draws",)
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(3e-4, 3e-2),
            "prior_std": Log(0.1, 10.0),
            "initial_std": Log(1e-4, 0.1),
        },
        length="epochs",
        learned_noise=True,
    )
    per_member: ClassVar = ("learning_rate", "prior_std", "initial_std", "epochs", "draws")

    learning_rate: float = 1e-3
    prior_std: float = 1.0
    initial_std: float = 0.01
    kl_weight: float = 1.0
    """Weight of the divergence: 1 aims at the posterior, less at a colder one."""
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = "cosine"
    draws: int = 32

    def __post_init__(self) -> None:
        check_descent(self)
        require_positive(self, "prior_std", "initial_std")
        require_between(self, 0.0, math.inf, "kl_weight")
        require_count(self, "draws", least=0)

    @property
    def prior_use(self) -> PriorUse:
        """The problem's prior is used, unless the posterior is a cold one."""
        return "given" if self.kl_weight == 1 else "own"

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a fit that differs only in `draws`, with this method's draws."""
        assert isinstance(posterior, DiagonalGaussianPosterior)
        return replace(posterior, draws=self.draws)

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Mfvi]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        first = variants[0]
        stack = Stack(problems, rngs, first.batch_size, rules=SAMPLING_RULES)
        mean = stack.weights
        log_std = column([math.log(v.initial_std) for v in variants], mean).expand_as(mean).clone()
        prior_std = column([variant.prior_std for variant in variants], mean)
        if (stds := problems[0].prior_stds) is not None:
            prior_std = stds.expand_as(mean)
        optimiser = Adam([mean, log_std], [variant.learning_rate for variant in variants])
        kl_scale = first.kl_weight / stack.batches.rows

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            members = len(inputs)
            center = mean[:members].detach().requires_grad_()
            log_scale = log_std[:members].detach().requires_grad_()
            std = log_scale.exp()
            loss = stack.loss((center, std), inputs, targets)
            loss = loss + kl_scale * kl_to_prior(center, std, prior_std[:members])
            optimiser.step(*torch.autograd.grad(loss.sum(), (center, log_scale)))
            return loss.detach()

        stack.run([variant.epochs for variant in variants], step, optimiser, first.schedule)
        std = log_std.exp()
        kl = kl_to_prior(mean, std, prior_std) / stack.batches.rows
        plain = TorchNetwork(problems[0].architecture, problems[0].input_shape)
        posteriors = [
            DiagonalGaussianPosterior(
                replace(stack.posterior(m), network=plain),
                std[m],
                variants[m].draws,
                {"kl_per_row": float(kl[m])},
            )
            for m in range(len(problems))
        ]
        return stack.outcomes(posteriors, std)


def kl_to_prior(
    mean: Float[Tensor, "members parameters"],
    std: Float[Tensor, "members parameters"],
    prior_std: float | Float[Tensor, "members #parameters"],
) -> Float[Tensor, " members"]:
    r"""Return KL[N(m, s²) || N(0, p²)] summed over weights, in nats.

    p may differ by member and by weight.

    $$ \sum \log(p / s) + (s^2 + m^2) / (2 p^2) - 1/2 $$
    """
    p = torch.as_tensor(prior_std, dtype=mean.dtype, device=mean.device)
    scaled = (std.square() + mean.square()) / (2 * p.square())
    return (scaled - (std / p).log() - 0.5).sum(1)


def sampled_outputs(rule: Rule) -> Rule:
    """Return the local reparametrisation of a layer that is linear in its weights.

    Outputs are drawn instead of weights: N(x m, x² s²), independent between examples. For a
    convolution this ignores that positions share their weights.
    """

    def sample(layer, stacks: Sequence[Parameters], x: Tensor, run: Pass) -> Tensor:
        mean, std = stacks
        center = rule(layer, [mean], x, run)
        variances = {name: value.square() for name, value in std.items()}
        variance = rule(layer, [variances], x.square(), run)
        noise = run.draw(center, lambda row, rng: row.normal_(generator=rng))
        return center + variance.clamp_min(1e-16).sqrt() * noise

    return sample


def sampled_weights(rule: Rule) -> Rule:
    """Return a layer that draws its weights once per batch, for layers with few weights.

    A custom module does so too, since its use of its weights is unknown.
    """

    def sample(layer, stacks: Sequence[Parameters], x: Tensor, run: Pass) -> Tensor:
        means, stds = stacks
        if run.rngs is None:
            raise ValueError("sampling weights needs rngs, one for each member")
        drawn = {
            name: means[name] + std * normal(run.rngs, *std.shape[1:], dtype=std.dtype)
            for name, std in stds.items()
        }
        return rule(layer, [{**means, **drawn}], x, run)

    return sample


SAMPLING_RULES = {
    Linear: sampled_outputs(RULES[Linear]),
    Conv2d: sampled_outputs(RULES[Conv2d]),
    BatchNorm: sampled_weights(RULES[BatchNorm]),
    AnalyticNorm: sampled_weights(RULES[AnalyticNorm]),
    FeatureResponseNorm: sampled_weights(RULES[FeatureResponseNorm]),
    TorchModule: sampled_weights(RULES[TorchModule]),
}
