r"""IVON: mean-field variational inference by an online natural-gradient Newton method.

The posterior is N(m, 1 / (λ (h + δ))) with a running Hessian estimate h, effective sample
size λ and weight decay δ, so that the prior precision is λ δ.

Source: Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks",
algorithm 1.
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
from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.fitting.optimisers import column
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent
from bnnbench.methods.tuning.space import Log, OneMinusLog, Space


@dataclass(frozen=True)
class Ivon(Variants):
    """IVON with Price's estimate of the Hessian.

    A prediction averages `draws` weight vectors; with 0 it uses the posterior mean. A regression's
    noise variance is learned as the expected squared residual under the posterior.
    """

    card: ClassVar[Card] = Card("variational")
    prior_use: ClassVar[PriorUse] = "own"
    of_predictions: ClassVar = ("draws",)
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(3e-3, 1.0),
            "initial_hessian": Log(0.1, 300.0),
            "beta2": OneMinusLog(1e-5, 1e-2),
            "weight_decay": Log(1e-6, 3e-2),
        },
        length="epochs",
        learned_noise=True,
    )
    per_member: ClassVar = (
        *("learning_rate", "initial_hessian", "beta2", "weight_decay"),
        *("epochs", "draws"),
    )

    learning_rate: float = 0.1
    initial_hessian: float = 1.0
    """Initial estimate of the Hessian's diagonal."""
    beta1: float = 0.9
    """Decay of the running mean of gradients."""
    beta2: float = 0.99999
    """Decay of the running mean of the Hessian."""
    weight_decay: float = 1e-4
    effective_sample_size: float | None = None
    """Effective sample size; None: the number of training rows, for the posterior itself."""
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = "cosine"
    draws: int = 100

    def __post_init__(self) -> None:
        check_descent(self)
        require_positive(self, "initial_hessian")
        require_between(self, 0.0, 1.0, "beta1", "beta2")
        require_between(self, 0.0, math.inf, "weight_decay")
        require_count(self, "draws", least=0)
        if self.effective_sample_size is not None:
            require_positive(self, "effective_sample_size")

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a fit that differs only in `draws`, with this method's draws."""
        assert isinstance(posterior, DiagonalGaussianPosterior)
        return replace(posterior, draws=self.draws)

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Ivon]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        first = variants[0]
        stack = Stack(problems, rngs, first.batch_size)
        size = first.effective_sample_size or float(stack.batches.rows)
        ascent = NaturalGradient(variants, size, stack.weights)

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            noise = normal(stack.streams, ascent.mean.shape[1], dtype=ascent.mean.dtype)
            sample = ascent.sample(noise).requires_grad_()
            loss = stack.loss(sample, inputs, targets)
            ascent.step(noise, *torch.autograd.grad(loss.sum(), sample))
            return loss.detach()

        stack.run([variant.epochs for variant in variants], step, ascent, first.schedule)
        std = ascent.std(len(variants))
        posteriors = [
            DiagonalGaussianPosterior(stack.posterior(m), std[m], variants[m].draws)
            for m in range(len(problems))
        ]
        return stack.outcomes(posteriors, std)


class NaturalGradient:
    """The state of IVON for stacked weights, which are updated in place, and its update step.

    A step may update only the first members when the others are done.
    """

    def __init__(
        self,
        variants: Sequence[Ivon],
        sample_size: float,
        mean: Float[Tensor, "members parameters"],
    ) -> None:
        def of(setting: str) -> Tensor:
            return column([getattr(variant, setting) for variant in variants], mean)

        self.mean = mean
        self.sample_size, self.beta1 = sample_size, variants[0].beta1
        self.decay, self.share = of("weight_decay"), 1 - of("beta2")
        self.hessian = of("initial_hessian").expand_as(mean).clone()
        self.momentum = torch.zeros_like(mean)
        scales = of("initial_hessian") + self.decay
        self._peaks = of("learning_rate") * scales
        self.rates = self._peaks
        self.steps = 0

    @property
    def changing(self) -> list[Part]:
        """The parts that a step changes, for checkpoints."""
        return [self.mean, self.hessian, self.momentum, Attributes(self, "steps")]

    def begin_epoch(self, factors: Sequence[float]) -> None:
        """Set the first members' learning rates to their peaks times these factors."""
        self.rates = self._peaks[: len(factors)] * column(factors, self.mean)

    def std(self, members: int) -> Float[Tensor, "members parameters"]:
        """Return the posterior standard deviation of every weight of the first members."""
        return self._root_precision(members).reciprocal()

    def sample(self, normals: Float[Tensor, "members parameters"]) -> Tensor:
        """Return weights of the first members, drawn with the given standard normals."""
        members = len(normals)
        return torch.addcdiv(self.mean[:members], normals, self._root_precision(members))

    def step(self, normals: Tensor, gradient: Tensor) -> None:
        """Update with the gradient of the mean loss at the sample drawn with these normals."""
        members = len(normals)
        decay, share = self.decay[:members], self.share[:members]
        mean, hessian = self.mean[:members], self.hessian[:members]
        momentum = self.momentum[:members]
        self.steps += 1
        price = self._root_precision(members).mul_(normals).mul_(gradient)
        correction = (hessian - price).square_().mul_(0.5 * share.square()).div_(hessian + decay)
        hessian.lerp_(price, share).add_(correction)
        momentum.lerp_(gradient, 1 - self.beta1)
        direction = (momentum / (1 - self.beta1**self.steps)).addcmul_(mean, decay)
        mean.addcdiv_(direction.mul_(self.rates), hessian + decay, value=-1)

    def _root_precision(self, members: int) -> Tensor:
        """Return the inverse standard deviations of the first members' weights."""
        precision = self.hessian[:members] + self.decay[:members]
        return precision.mul_(self.sample_size).sqrt_()
