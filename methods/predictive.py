"""Predictive distributions. Metrics know these and nothing of methods."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

CHUNK_VALUES = 2**22
"""Draws are reduced in chunks of points of about this many values, to bound memory."""


def _point_chunks(values: Tensor) -> "list[Tensor]":
    """Cut a `draws points *rest` tensor along its points."""
    per_point = max(1, values[:, :1].numel())
    return list(values.split(max(1, CHUNK_VALUES // per_point), dim=1))


@dataclass(frozen=True)
class CategoricalPredictive:
    """An equal-weight mixture of categoricals, one component per posterior draw.

    A method that marginalises in closed form returns a single draw.
    """

    log_probs: Float[Tensor, "draws points classes"]

    def __len__(self) -> int:
        return self.log_probs.shape[1]

    @cached_property
    def mixture_log_probs(self) -> Float[Tensor, "points classes"]:
        r"""$\log \tfrac1S \sum_s p(y = k \mid x_n, \theta_s)$, in float64."""
        draws = self.log_probs.shape[0]
        return torch.cat(
            [
                chunk.double().logsumexp(0) - math.log(draws)
                for chunk in _point_chunks(self.log_probs)
            ]
        )

    @cached_property
    def expected_entropy(self) -> Float[Tensor, " points"]:
        r"""$\tfrac1S \sum_s H[p(y \mid x_n, \theta_s)]$, in nats and float64."""
        return torch.cat(
            [_entropy(chunk.double()).mean(0) for chunk in _point_chunks(self.log_probs)]
        )

    def log_prob(self, target: Int[Tensor, " points"]) -> Float[Tensor, " points"]:
        """Return the log predictive probability of each target."""
        return self.mixture_log_probs.gather(1, target[:, None]).squeeze(1)

    def summary(self) -> "CategoricalSummary":
        """Return what remains when the single draws are dropped."""
        return CategoricalSummary(self.mixture_log_probs, self.expected_entropy)


@dataclass(frozen=True)
class CategoricalSummary:
    """The mixture and its expected entropy: all that scores need, without the draws."""

    mixture_log_probs: Float[Tensor, "points classes"]
    expected_entropy: Float[Tensor, " points"]

    def __len__(self) -> int:
        return len(self.mixture_log_probs)

    log_prob = CategoricalPredictive.log_prob


def _entropy(log_probs: Tensor) -> Tensor:
    """Return -Σ p log p over the last axis, with 0 log 0 = 0."""
    probs = log_probs.exp()
    return -torch.where(probs > 0, probs * log_probs, 0.0).sum(-1)


@runtime_checkable
class RealPredictive(Protocol):
    """A distribution over real targets, whatever its shape; outputs are independent."""

    def __len__(self) -> int: ...

    @property
    def mean(self) -> Float[Tensor, "points outputs"]: ...

    @property
    def variance(self) -> Float[Tensor, "points outputs"]: ...

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, " points"]: ...

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, "points outputs"]: ...

    def rescaled(self, mean: float, std: float) -> "RealPredictive":
        """Return the distribution of mean + std * y."""
        ...


@dataclass(frozen=True)
class GaussianPredictive:
    """An equal-weight mixture of Gaussians, one component per posterior draw.

    `variances` contain the observation noise. Everything is computed in float64.
    """

    means: Float[Tensor, "draws points outputs"]
    variances: Float[Tensor, "draws points outputs"]

    def __len__(self) -> int:
        return self.means.shape[1]

    @cached_property
    def mean(self) -> Float[Tensor, "points outputs"]:
        """The mean of the mixture."""
        return self.means.double().mean(0)

    @cached_property
    def variance(self) -> Float[Tensor, "points outputs"]:
        """The variance of the mixture: mean of variances plus variance of means."""
        means = self.means.double()
        return self.variances.double().mean(0) + means.var(0, correction=0)

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, " points"]:
        """Return the log density of each target, a row of outputs being one event."""
        target = target.double()
        pieces = zip(
            _point_chunks(self.means), _point_chunks(self.variances), strict=True
        )
        done, densities = 0, []
        for means, variances in pieces:
            rows = target[done : done + means.shape[1]]
            components = _log_density(rows, means.double(), variances.double()).sum(-1)
            densities.append(components.logsumexp(0) - math.log(len(components)))
            done += len(rows)
        return torch.cat(densities)

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, "points outputs"]:
        """Return P(y ≤ target) of each output."""
        target = target.double()
        done, parts = 0, []
        for means, variances in zip(
            _point_chunks(self.means), _point_chunks(self.variances), strict=True
        ):
            rows = target[done : done + means.shape[1]]
            z = (rows - means.double()) / variances.double().sqrt()
            parts.append(torch.special.ndtr(z).mean(0))
            done += len(rows)
        return torch.cat(parts)

    def rescaled(self, mean: float, std: float) -> "GaussianPredictive":
        """Return the distribution of mean + std * y."""
        return GaussianPredictive(
            mean + std * self.means.double(), std**2 * self.variances.double()
        )


def _log_density(target: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return -0.5 * ((target - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi))


Predictive = CategoricalPredictive | CategoricalSummary | RealPredictive
