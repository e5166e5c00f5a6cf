"""Predictive distributions. Metrics depend on these and not on methods."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, TypeGuard, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.predictions.base import (
    HasCdf,
    HasLogProb,
    HasMoments,
    HasProbabilities,
    Packed,
    Predictive,
)
from bnnbench.methods.predictions.dirichlet import reverse_mutual_information, smoothed

CHUNK_VALUES = 2**18
"""Draws are reduced in chunks of points with about this many values, to bound memory
(and to stay in cache, which is three times faster than 2**22)."""


def point_chunks(values: Tensor) -> "list[Tensor]":
    """Cut a `draws points *rest` tensor along its points."""
    per_point = max(1, values[:, :1].numel())
    return list(values.split(max(1, CHUNK_VALUES // per_point), dim=1))


def reduced(values: Tensor, reduce: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> Tensor:
    """Return `reduce` of all draws, some points at a time, in float64."""
    if values.requires_grad and torch.is_grad_enabled():
        return reduce(values.double())
    # Filled in place: pieces stored between large temporaries would fragment the heap.
    result = torch.empty(shape, dtype=torch.float64, device=values.device)
    chunks = point_chunks(values)
    pieces = result.split([chunk.shape[1] for chunk in chunks])
    for piece, chunk in zip(pieces, chunks, strict=True):
        piece.copy_(reduce(chunk.double()))
    return result


def in_chunks(function: Callable[..., Tensor], *values: Tensor) -> Tensor:
    """Return a function of `draws points *rest` tensors, computed for some points at a time.

    The first tensor, which has all draws, determines how many.
    """
    size = point_chunks(values[0])[0].shape[1]
    chunks = zip(*(value.split(size, dim=1) for value in values), strict=True)
    return torch.cat([function(*chunk) for chunk in chunks])


def _log_mean_exp(draws: Tensor) -> Tensor:
    return draws.logsumexp(0) - math.log(len(draws))


@dataclass(frozen=True)
class CategoricalPredictive(Packed):
    """An equal-weight mixture of categoricals, one component per posterior draw.

    A method that marginalises in closed form returns a single draw.
    """

    log_probs: Float[Tensor, "draws points classes"]

    of_classes: ClassVar[bool] = True
    may_be_infinite: ClassVar[tuple[str, ...]] = ("log_probs",)

    def __len__(self) -> int:
        return self.log_probs.shape[1]

    @cached_property
    def mixture_log_probs(self) -> Float[Tensor, "points classes"]:
        r"""$\log \tfrac1S \sum_s p(y = k \mid x_n, \theta_s)$, in float64."""
        points_and_classes = self.log_probs.shape[1:]
        return reduced(self.log_probs, _log_mean_exp, points_and_classes)

    @cached_property
    def expected_entropy(self) -> Float[Tensor, " points"]:
        r"""$\tfrac1S \sum_s H[p(y \mid x_n, \theta_s)]$, in nats and float64."""
        points = self.log_probs.shape[1:2]
        return reduced(self.log_probs, lambda draws: _entropy(draws).mean(0), points)

    @cached_property
    def reverse_mutual_information(self) -> Float[Tensor, " points"]:
        r"""$\tfrac1S \sum_s KL[p \| p_s]$ of smoothed draws around their mean p, in nats, float64.

        A Dirichlet fit needs only this number and the mean.
        """
        points = self.log_probs.shape[1:2]
        return reduced(self.log_probs, _reverse_mutual_information, points)

    def log_prob(self, target: Int[Tensor, " points"]) -> Float[Tensor, " points"]:
        """Return the log predictive probability of each target."""
        return self.mixture_log_probs.gather(1, target.long()[:, None]).squeeze(1)

    def draw_log_probs(self, target: Int[Tensor, " points"]) -> Float[Tensor, "draws points"]:
        """Return the log probability of each target under each draw, in float64."""
        index = target.long()[None, :, None].expand(len(self.log_probs), -1, 1)
        return self.log_probs.gather(2, index).squeeze(2).double()

    def summary(self) -> "CategoricalSummary":
        """Return a summary without the single draws."""
        return CategoricalSummary(
            self.mixture_log_probs, self.expected_entropy, self.reverse_mutual_information
        )


@dataclass(frozen=True)
class CategoricalSummary(Packed):
    """The mixture and the spread of its draws, without the draws; scores need nothing else."""

    mixture_log_probs: Float[Tensor, "points classes"]
    expected_entropy: Float[Tensor, " points"]
    reverse_mutual_information: Float[Tensor, " points"] | None = None
    """Reverse mutual information, in nats; None in predictions stored before it existed."""

    of_classes: ClassVar[bool] = True
    may_be_infinite: ClassVar[tuple[str, ...]] = ("mixture_log_probs",)

    def __len__(self) -> int:
        return len(self.mixture_log_probs)

    log_prob = CategoricalPredictive.log_prob


def _reverse_mutual_information(draws: Tensor) -> Tensor:
    return reverse_mutual_information(smoothed(draws.exp()))


def _entropy(log_probs: Tensor) -> Tensor:
    """Return -Σ p log p over the last axis, with 0 log 0 = 0; NaN stays NaN."""
    probs = log_probs.exp()
    return -torch.where(probs == 0, 0.0, probs * log_probs).sum(-1)


@runtime_checkable
class ClassPredictive(Predictive, HasProbabilities, Protocol):
    """A distribution over classes, mixed in any way."""


@runtime_checkable
class RealPredictive(Predictive, HasMoments, HasLogProb, HasCdf, Protocol):
    """A distribution of any shape over real targets; outputs are independent."""

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "RealPredictive":
        """Return the distribution of mean + std * y, numbers or one of each output."""
        ...


@dataclass(frozen=True)
class GaussianPredictive(Packed):
    """An equal-weight mixture of Gaussians, one component per posterior draw.

    `variances` include the observation noise. Everything is computed in float64.
    """

    means: Float[Tensor, "draws points outputs"]
    variances: Float[Tensor, "draws points outputs"]

    of_classes: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.means.shape[1]

    @cached_property
    def mean(self) -> Float[Tensor, "points outputs"]:
        """The mean of the mixture."""
        return reduced(self.means, lambda draws: draws.mean(0), self.means.shape[1:])

    @cached_property
    def variance(self) -> Float[Tensor, "points outputs"]:
        """The variance of the mixture: mean of variances plus variance of means."""
        shape = self.means.shape[1:]
        within = reduced(self.variances, lambda draws: draws.mean(0), shape)
        return within + reduced(self.means, lambda draws: draws.var(0, correction=0), shape)

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, " points"]:
        """Return the log density of each target; a row of outputs is one event."""
        return torch.cat(
            [_log_mean_exp(joint(_log_density(*piece), -1)) for piece in self._pieces(target)]
        )

    def draw_log_probs(
        self, target: Float[Tensor, "points outputs"]
    ) -> Float[Tensor, "draws points"]:
        """Return the log density of each target under each draw, in float64."""
        return torch.cat([joint(_log_density(*piece), -1) for piece in self._pieces(target)], 1)

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float[Tensor, "points outputs"]:
        """Return P(y ≤ target) of each output."""
        return torch.cat([_cdf(*piece).mean(0) for piece in self._pieces(target)])

    def _pieces(self, target: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield targets, means and variances of some points at a time, in float64."""
        position = 0
        for means, variances in zip(
            point_chunks(self.means), point_chunks(self.variances), strict=True
        ):
            rows = target[position : position + means.shape[1]]
            yield rows.double(), means.double(), variances.double()
            position += len(rows)

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "GaussianPredictive":
        """Return the distribution of mean + std * y, numbers or one of each output."""
        return type(self)(mean + std * self.means.double(), std**2 * self.variances.double())


def _log_density(target: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Return log N(target; mean, variance); for variance 0 a point mass: ±inf."""
    error = target - mean
    density = -0.5 * (error**2 / variance + variance.log() + math.log(2 * math.pi))
    point_mass = torch.where(error == 0, math.inf, -math.inf)
    return torch.where((variance == 0) & ~error.isnan(), point_mass, density)


def joint(log_densities: Tensor, axis: int) -> Tensor:
    """Return the log of a product of densities, which is 0 if one of them is.

    That holds even if another is infinite.
    """
    total = log_densities.sum(axis)
    if not total.isnan().any():
        return total
    impossible = log_densities.isneginf().any(axis) & ~log_densities.isnan().any(axis)
    return torch.where(impossible, -math.inf, total)


def _cdf(target: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Return P(y ≤ target) under N(mean, variance); for variance 0 a step at the mean."""
    error = target - mean
    at_step = (error == 0) & (variance == 0)
    # torch.special.ndtr is 0 from -8.3 on.
    below = 0.5 * torch.special.erfc(-error / (2 * variance).sqrt())
    return torch.where(at_step, 1.0, below)


def mixture(predictives: Sequence[Predictive]) -> Predictive:
    """Return the mixture of all draws; with equal numbers of draws, predictives weigh equally.

    Raises TypeError for predictives whose mixture has no class.
    """
    if _all_are(predictives, CategoricalPredictive):
        return type(predictives[0])(torch.cat([p.log_probs for p in predictives]))
    if _all_are(predictives, GaussianPredictive):
        return type(predictives[0])(
            torch.cat([p.means for p in predictives]), torch.cat([p.variances for p in predictives])
        )
    kinds = {type(predictive) for predictive in predictives}
    raise TypeError(f"no mixture of {', '.join(sorted(kind.__name__ for kind in kinds))}")


_Kind = TypeVar("_Kind")


def _all_are(predictives: Sequence[object], kind: type[_Kind]) -> TypeGuard[Sequence[_Kind]]:
    kinds = {type(predictive) for predictive in predictives}
    return len(kinds) == 1 and issubclass(kinds.pop(), kind)
