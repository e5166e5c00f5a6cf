"""Moments with the covariances between units: beyond paper 001, which leaves them out.

Linear maps are exact. Units count as jointly normal where they enter a nonlinear layer: their
covariances pass it by the first terms of an expansion (see `hermite`), and their means and
variances are those of `moment_rules`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances import hermite
from bnnbench.methods.moments.covariances.correlated import CorrelatedMoments
from bnnbench.methods.moments.covariances.directions import Kept, LinearMap
from bnnbench.methods.moments.covariances.hermite import Expansion
from bnnbench.methods.moments.covariances.low_rank import Joint, LowRankMoments
from bnnbench.methods.moments.covariances.pooling import max_pool
from bnnbench.methods.moments.rules import Formulas, moment_rules, second_moment
from bnnbench.methods.networks import architectures as words
from bnnbench.methods.networks.torch_layers import (
    RULES,
    Parameters,
    Pass,
    Rule,
    channel_map,
    one_by_one,
    per_channel,
)

Expand = Callable[[Any, Sequence[Parameters], Moments], Expansion]
"""layer, its parameters out of each stack of weights, input -> how covariances pass."""


@dataclass(frozen=True)
class Covariances:
    """Which covariances are carried, and how they pass nonlinear units.

    All of them where `rank` is None, which takes units² numbers per point: for dense networks
    and small convolutional ones. Otherwise those along `rank` directions at each linear layer,
    which are all of them where a layer has no more inputs or outputs than that.
    """

    rank: int | None = None
    order: int = 1
    """Terms of the expansion; more than one only of all covariances."""
    points_at_once: int = 2
    """What bounds memory; predictions do not depend on it."""

    def __post_init__(self) -> None:
        require_count(self, "order", "points_at_once")
        if self.rank is None:
            return
        require_count(self, "rank")
        if self.order > 1:
            raise ValueError(
                f"Covariances of a rank needs order=1, which keeps the rank; got {self.order}"
            )

    def of(self, x: Moments) -> Joint:
        """Return independent units in the form in which these covariances are carried."""
        if self.rank is None:
            return CorrelatedMoments.of(x)
        return LowRankMoments.of(x, self.rank)


def covariance_rules(
    covariances: Covariances = Covariances(),
    formulas: Formulas = Formulas(),
) -> dict[type[words.Layer], Rule]:
    """Return the rules by which moments with covariances pass through a network.

    The network is given `Moments`, which become a `Joint` at the first layer that mixes units.
    """
    alone, kept = moment_rules(formulas), Kept()
    expansions = _expansions(covariances.order, formulas)
    unitwise = {layer: _unitwise(alone[layer], expand) for layer, expand in expansions.items()}
    return (
        alone
        | unitwise
        | {
            words.Linear: _mixing(covariances, alone[words.Linear], kept),
            words.Conv2d: _mixing(covariances, alone[words.Conv2d], kept),
            words.AvgPool2d: _average(alone[words.AvgPool2d]),
            words.GlobalAvgPool2d: _average(alone[words.GlobalAvgPool2d]),
            words.MaxPool2d: _pool(alone[words.MaxPool2d], formulas),
            words.Flatten: _flatten(alone[words.Flatten]),
        }
    )


def _expansions(order: int, formulas: Formulas) -> dict[type[words.Layer], Expand]:
    tanh, swish = hermite.smooth(hermite.tanh_slope), hermite.smooth(hermite.swish_slope)
    bernoulli = formulas.bernoulli
    return {
        words.ReLU: lambda layer, _, x: hermite.rectifier(x, 0.0, order),
        words.LeakyReLU: lambda layer, _, x: hermite.rectifier(x, layer.slope, order),
        words.Sigmoid: lambda layer, _, x: hermite.logistic_unit(x, order),
        words.LogisticBernoulli: lambda layer, _, x: hermite.logistic_unit(x, order, bernoulli),
        words.Tanh: lambda layer, _, x: tanh(x, order),
        words.Swish: lambda layer, _, x: swish(x, order),
        words.Dropout: _added_noise,
        words.GaussianNoise: _added_noise,
        words.BatchNorm: _norm,
        words.AnalyticNorm: _norm,
    }


def _added_noise(layer: object, _: Sequence[Parameters], x: Moments) -> Expansion:
    """Return that of a layer whose noise is independent in each unit, and its mean the input."""
    return Expansion(x.mean.new_ones(()).expand_as(x.mean))


def _norm(
    layer: words.BatchNorm | words.AnalyticNorm, stacks: Sequence[Parameters], x: Moments
) -> Expansion:
    own = dict(_certain(layer, stacks))
    if "running_mean" in own:
        own |= {"mean": own["running_mean"], "variance": own["running_variance"]}
    scale, _ = channel_map(own, layer.epsilon)
    return Expansion(one_by_one(per_channel, torch.ones_like(x.mean), scale))


def _unitwise(alone: Rule, expand: Expand) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, now: Pass) -> Any:
        if isinstance(x, Moments):
            return alone(layer, stacks, x, now)
        if now.training and isinstance(layer, words.BatchNorm):
            raise Unsupported("BatchNorm passes covariances in evaluation alone: got training")
        before = _marginals(x)
        after = alone(layer, stacks, before, now)
        expansion = expand(layer, stacks, before)
        return x.unitwise(after, expansion.within(x.variance, after.variance))

    return rule


def _mixing(covariances: Covariances, alone: Rule, kept: Kept) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, now: Pass) -> Any:
        if isinstance(layer, words.Conv2d):
            _certain(layer, stacks)  # its weights' noise is shared by all positions
        if isinstance(x, Moments) and x.variance is None:  # outputs are independent
            return alone(layer, stacks, x, now)
        dense = isinstance(layer, words.Linear) and covariances.rank is None
        if isinstance(x, Moments) and not dense:
            x = covariances.of(x)
        own, *uncertain = stacks
        mean = RULES[type(layer)](layer, [own], x.mean, now)
        extra: Tensor | None = None
        for stds in uncertain:
            squares = {name: std.square() for name, std in stds.items()}
            own_noise = RULES[type(layer)](layer, [squares], second_moment(_marginals(x)), now)
            extra = own_noise if extra is None else extra + own_noise
        maps = [LinearMap(layer, weight, x.shape[2:], kept) for weight in own["weight"]]
        if isinstance(x, Moments):
            return CorrelatedMoments.behind(x, mean, maps, extra)
        return x.mapped(mean, maps, extra)

    return rule


def _average(alone: Rule) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, now: Pass) -> Any:
        if isinstance(x, Moments):
            return alone(layer, stacks, x, now)
        size = x.shape[-2] * x.shape[-1] if layer == words.GlobalAvgPool2d() else layer.size**2

        def average(images: Tensor) -> Tensor:
            return RULES[type(layer)](layer, stacks, images[None], now)[0]

        return x.averaged(RULES[type(layer)](layer, stacks, x.mean, now), average, size)

    return rule


def _pool(alone: Rule, formulas: Formulas) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, now: Pass) -> Any:
        if isinstance(x, Moments):
            return alone(layer, stacks, x, now)
        if formulas.variance != "exact":
            raise Unsupported('maxima of correlated units need Formulas(variance="exact")')
        return max_pool(x, layer.size)

    return rule


def _flatten(alone: Rule) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, now: Pass) -> Any:
        if isinstance(x, Moments):
            return alone(layer, stacks, x, now)
        return x.reshaped(x.mean.flatten(2))

    return rule


def _marginals(x: Moments | Joint) -> Moments:
    return Moments(x.mean, x.variance)


def _certain(layer: object, stacks: Sequence[Parameters]) -> Parameters:
    if len(stacks) > 1:
        raise Unsupported(
            f"Gaussian weights of {layer} give covariances that are not known: take moments of "
            "independent units, without Covariances"
        )
    return stacks[0]
