r"""IVON: mean-field variational inference by an online natural-gradient Newton method.

The posterior is N(m, 1 / (λ (h + δ))) with a running Hessian estimate h, effective sample
size λ and weight decay δ, so that the prior precision is λ δ.

Source: Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks",
algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from methods.base import InferenceDiverged, Posterior, Problem
from methods.network_posterior import NetworkPosterior
from methods.predictive import Predictive
from methods.randomness import normal
from methods.training import Schedule, Stack, check_finite, in_stacks, learning_rate_factor, only


@dataclass(frozen=True)
class IvonPosterior:
    """A diagonal Gaussian over the weights."""

    at_mean: NetworkPosterior
    std: Float[Tensor, " parameters"]
    draws: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """What the fit says about itself."""
        return self.at_mean.diagnostics | {"mean_weight_std": float(self.std.mean())}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over weight draws, or the prediction at the mean for no draws."""
        if not self.draws:
            return self.at_mean.predict(inputs, rng)
        mean = self.at_mean.weights
        noise = normal([rng], self.draws, mean.shape[1], dtype=mean.dtype)[0]
        return self.at_mean.predict_with(mean + self.std * noise, inputs)


@dataclass(frozen=True)
class Ivon:
    """IVON with Price's estimate of the Hessian.

    `draws` weight vectors are averaged when predicting; none means the posterior mean. A
    regression's noise variance is learned, the expected squared residual under the posterior.
    """

    learning_rate: float = 0.1
    initial_hessian: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.99999
    weight_decay: float = 1e-4
    effective_sample_size: float | None = None
    """None: the number of training rows, which targets the posterior itself."""
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = "cosine"
    draws: int = 100

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` if weights overflow."""
        return only(self.fit_many([problem], [rng]))

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        return in_stacks(self._fit_stack, problems, rngs)

    def _fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        stack = Stack(problems, rngs, self.batch_size)
        size = self.effective_sample_size or stack.batches.rows
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

        stack.run(self.epochs, step)
        stack.weights = ascent.mean
        posteriors = [
            IvonPosterior(stack.posterior(m), ascent.std[m], self.draws)
            for m in range(len(problems))
        ]
        return check_finite(torch.cat([ascent.mean, ascent.std], dim=1), posteriors)


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
