"""Moments with the covariances between units, which paper 001 neglects.

Linear maps are exact. Units that enter a nonlinear layer are treated as jointly normal: their
covariances pass it by the first terms of an expansion (see `hermite`), and their means and
variances come from `moment_rules`.
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
from bnnbench.methods.moments.covariances.directions import DirectionCache, LinearMap
from bnnbench.methods.moments.covariances.hermite import Expansion
from bnnbench.methods.moments.covariances.low_rank import Joint, LowRankMoments
from bnnbench.methods.moments.covariances.pooling import max_pool
from bnnbench.methods.moments.rules import Formulas, moment_rules, second_moment
from bnnbench.methods.moments.units import standard
from bnnbench.methods.networks import architectures as vocabulary
from bnnbench.methods.networks.passes import Parameters, Pass, Rule
from bnnbench.methods.networks.torch_layers import RULES, channel_map, one_by_one, per_channel

Expand = Callable[[Any, Sequence[Parameters], Moments], Expansion]
"""layer, its parameters out of each stack of weights, input -> expansion for covariances."""


@dataclass(frozen=True)
class Covariances:
    """The propagated covariances, and how they pass nonlinear units.

    If `rank` is None, all covariances are propagated, which takes units² numbers per point: for
    dense networks and small convolutional ones. Otherwise covariances are propagated along `rank`
    directions at each linear layer, which loses nothing if it has no more inputs or outputs.
    """

    rank: int | None = None
    order: int = 1
    """Number of terms of the expansion; more than one only if `rank` is None."""

    def __post_init__(self) -> None:
        require_count(self, "order")
        if self.rank is None:
            return
        require_count(self, "rank")
        if self.order > 1:
            raise ValueError(
                f"Covariances with a rank needs order=1, which preserves it; got {self.order}"
            )

    def of(self, x: Moments) -> Joint:
        """Return independent units in the form that carries these covariances."""
        if self.rank is None:
            return CorrelatedMoments.of(x)
        return LowRankMoments.of(x, self.rank)


def covariance_rules(
    covariances: Covariances = Covariances(),
    formulas: Formulas = Formulas(),
) -> dict[type[vocabulary.Layer], Rule]:
    """Return the rules by which moments with covariances pass through a network.

    The network is given `Moments`, which become a `Joint` at the first layer that mixes units.
    """
    independent_rules, recent_directions = moment_rules(formulas), DirectionCache()
    expansions = _expansions(covariances.order, formulas)
    unitwise = {
        layer: _unitwise(independent_rules[layer], expand) for layer, expand in expansions.items()
    }
    return (
        independent_rules
        | unitwise
        | {
            vocabulary.Linear: _mixing(
                covariances, independent_rules[vocabulary.Linear], recent_directions
            ),
            vocabulary.Conv2d: _mixing(
                covariances, independent_rules[vocabulary.Conv2d], recent_directions
            ),
            vocabulary.AvgPool2d: _average(independent_rules[vocabulary.AvgPool2d]),
            vocabulary.GlobalAvgPool2d: _average(independent_rules[vocabulary.GlobalAvgPool2d]),
            vocabulary.MaxPool2d: _pool(independent_rules[vocabulary.MaxPool2d], formulas),
            vocabulary.Flatten: _flatten(independent_rules[vocabulary.Flatten]),
        }
    )


def _expansions(order: int, formulas: Formulas) -> dict[type[vocabulary.Layer], Expand]:
    tanh, swish = hermite.smooth(hermite.tanh_slope), hermite.smooth(hermite.swish_slope)
    exact = formulas.sigmoid == "exact"
    sigmoid = hermite.smooth(standard.logistic_slope) if exact else hermite.logistic_unit
    bernoulli = formulas.bernoulli
    return {
        vocabulary.ReLU: lambda layer, _, x: hermite.rectifier(x, 0.0, order),
        vocabulary.LeakyReLU: lambda layer, _, x: hermite.rectifier(x, layer.slope, order),
        vocabulary.Sigmoid: lambda layer, _, x: sigmoid(x, order),
        vocabulary.LogisticBernoulli: lambda layer, _, x: hermite.logistic_unit(
            x, order, bernoulli
        ),
        vocabulary.Tanh: lambda layer, _, x: tanh(x, order),
        vocabulary.Swish: lambda layer, _, x: swish(x, order),
        vocabulary.Dropout: _added_noise,
        vocabulary.GaussianNoise: _added_noise,
        vocabulary.BatchNorm: _norm,
        vocabulary.AnalyticNorm: _norm,
    }


def _added_noise(layer: object, _: Sequence[Parameters], x: Moments) -> Expansion:
    """Return the expansion of a layer that adds independent noise with mean 0 to each unit."""
    return Expansion(x.mean.new_ones(()).expand_as(x.mean))


def _norm(
    layer: vocabulary.BatchNorm | vocabulary.AnalyticNorm, stacks: Sequence[Parameters], x: Moments
) -> Expansion:
    parameters = dict(_certain(layer, stacks))
    if "running_mean" in parameters:
        parameters |= {
            "mean": parameters["running_mean"],
            "variance": parameters["running_variance"],
        }
    scale, _ = channel_map(parameters, layer.epsilon)
    return Expansion(one_by_one(per_channel, torch.ones_like(x.mean), scale))


def _unitwise(independent_rule: Rule, expand: Expand) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, context: Pass) -> Any:
        if isinstance(x, Moments):
            return independent_rule(layer, stacks, x, context)
        if context.training and isinstance(layer, vocabulary.BatchNorm):
            raise Unsupported("BatchNorm propagates covariances only in evaluation; got training")
        before = _marginals(x)
        after = independent_rule(layer, stacks, before, context)
        expansion = expand(layer, stacks, before)
        return x.unitwise(after, expansion.within(x.variance, after.variance))

    return rule


def _mixing(
    covariances: Covariances, independent_rule: Rule, recent_directions: DirectionCache
) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, context: Pass) -> Any:
        if isinstance(layer, vocabulary.Conv2d):
            _certain(layer, stacks)  # its weights' noise is shared by all positions
        if isinstance(x, Moments) and x.variance is None:  # outputs are independent
            return independent_rule(layer, stacks, x, context)
        dense = isinstance(layer, vocabulary.Linear) and covariances.rank is None
        if isinstance(x, Moments) and not dense:
            x = covariances.of(x)
        means, *uncertain = stacks
        mean = RULES[type(layer)](layer, [means], x.mean, context)
        extra: Tensor | None = None
        for stds in uncertain:
            squares = {name: std.square() for name, std in stds.items()}
            own_noise = RULES[type(layer)](layer, [squares], second_moment(_marginals(x)), context)
            extra = own_noise if extra is None else extra + own_noise
        maps = [
            LinearMap(layer, weight, x.shape[2:], recent_directions) for weight in means["weight"]
        ]
        if isinstance(x, Moments):
            return CorrelatedMoments.behind(x, mean, maps, extra)
        return x.mapped(mean, maps, extra)

    return rule


def _average(independent_rule: Rule) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, context: Pass) -> Any:
        if isinstance(x, Moments):
            return independent_rule(layer, stacks, x, context)
        size = x.shape[-2] * x.shape[-1] if layer == vocabulary.GlobalAvgPool2d() else layer.size**2

        def average(images: Tensor) -> Tensor:
            return RULES[type(layer)](layer, stacks, images[None], context)[0]

        return x.averaged(RULES[type(layer)](layer, stacks, x.mean, context), average, size)

    return rule


def _pool(independent_rule: Rule, formulas: Formulas) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, context: Pass) -> Any:
        if isinstance(x, Moments):
            return independent_rule(layer, stacks, x, context)
        if formulas.variance != "exact":
            raise Unsupported('needed Formulas(variance="exact") for maxima of correlated units')
        return max_pool(x, layer.size)

    return rule


def _flatten(independent_rule: Rule) -> Rule:
    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments | Joint, context: Pass) -> Any:
        if isinstance(x, Moments):
            return independent_rule(layer, stacks, x, context)
        return x.reshaped(x.mean.flatten(2))

    return rule


def _marginals(x: Moments | Joint) -> Moments:
    return Moments(x.mean, x.variance)


def _certain(layer: object, stacks: Sequence[Parameters]) -> Parameters:
    if len(stacks) > 1:
        raise Unsupported(
            f"needed fixed weights; got Gaussian weights of {layer}, with unknown covariances of "
            "outputs; use moments of independent units, without Covariances"
        )
    return stacks[0]
