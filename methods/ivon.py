r"""IVON: mean-field variational inference by an online natural-gradient Newton method.

The posterior is N(m, 1 / (λ (h + δ))) with a running Hessian estimate h, effective sample
size λ and weight decay δ, so that the prior precision is λ δ.

Source: Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks",
algorithm 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.training import Schedule, Stack, check_descent, learning_rate_factor
from bnnbench.methods.tuning.space import Log, OneMinusLog, Space


@dataclass(frozen=True)
class Ivon(Stacked):
    """IVON with Price's estimate of the Hessian.

    `draws` weight vectors are averaged when predicting; none means the posterior mean. A
    regression's noise variance is learned, the expected squared residual under the posterior.
    """

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

    learning_rate: float = 0.1
    initial_hessian: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.99999
    weight_decay: float = 1e-4
    effective_sample_size: float | None = None
    """None stands for the number of training rows, which targets the posterior itself."""
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

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        stack = Stack(problems, rngs, self.batch_size)
        size = self.effective_sample_size or float(stack.batches.rows)
        ascent = NaturalGradient(self, size, stack.weights)

        def step(inputs: Tensor, targets: Tensor) -> Tensor:
            epoch = ascent.steps // len(stack.batches)
            rate = self.learning_rate * learning_rate_factor(self.schedule, epoch, self.epochs)
            sample = ascent.sample(
                normal(stack.rngs, ascent.mean.shape[1], dtype=ascent.mean.dtype)
            ).requires_grad_()
            loss = stack.loss(sample, inputs, targets)
            (gradient,) = torch.autograd.grad(loss.sum(), sample)
            ascent.step(sample.detach(), gradient, rate)
            return loss.detach()

        stack.run(self.epochs, step, changing=[ascent.changing])
        stack.weights = ascent.mean
        std = ascent.std
        posteriors = [
            DiagonalGaussianPosterior(stack.posterior(m), std[m], self.draws)
            for m in range(len(problems))
        ]
        return stack.outcomes(posteriors, std)


class NaturalGradient:
    """The state of IVON for stacked weights, and one step of its update."""

    def __init__(
        self, settings: Ivon, sample_size: float, mean: Float[Tensor, "members parameters"]
    ) -> None:
        self.settings = settings
        self.sample_size = sample_size
        self.mean = mean.clone()
        self.hessian = torch.full_like(mean, settings.initial_hessian)
        self.momentum = torch.zeros_like(mean)
        self.steps = 0

    @property
    def changing(self) -> Part:
        """The parts that steps change, for checkpoints."""
        return Attributes(self, "mean", "hessian", "momentum", "steps")

    @property
    def std(self) -> Float[Tensor, "members parameters"]:
        """The posterior standard deviation of every weight."""
        return (self.sample_size * (self.hessian + self.settings.weight_decay)).rsqrt()

    def sample(self, normals: Float[Tensor, "members parameters"]) -> Tensor:
        """Return weights drawn from the posterior with the given standard normals."""
        return torch.addcmul(self.mean, self.std, normals)

    def step(self, sample: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Update with the gradient of the mean loss at a weight sample, one per member."""
        s, h = self.settings, self.hessian
        self.steps += 1
        decayed = h + s.weight_decay
        price = self.sample_size * decayed * (sample - self.mean) * gradient
        correction = 0.5 * (1 - s.beta2) ** 2 * (h - price).square() / decayed
        self.hessian = h.lerp(price, 1 - s.beta2).add_(correction)
        self.momentum.lerp_(gradient, 1 - s.beta1)
        direction = self.momentum / (1 - s.beta1**self.steps) + s.weight_decay * self.mean
        rate = learning_rate * (s.initial_hessian + s.weight_decay)
        self.mean.addcdiv_(direction, self.hessian + s.weight_decay, value=-rate)
