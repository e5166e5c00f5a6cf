r"""Rules by which each layer of a `TorchNetwork` propagates means and variances.

Units are treated as independent of each other, and as normal if they enter a nonlinear layer. The
noise of Dropout and LogisticBernoulli is part of the moments, in training and in prediction, so
that nothing is sampled. Source: paper 001, section 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.settings import earlier, require_choice
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import (
    Bernoulli,
    logistic_bernoulli,
    logistic_transform,
)
from bnnbench.methods.moments.units.dropout import dropout
from bnnbench.methods.moments.units.maximum import max_pool
from bnnbench.methods.moments.units.quadrature import sigmoid, swish, tanh
from bnnbench.methods.moments.units.rectified import Variance, leaky_relu, relu
from bnnbench.methods.moments.units.softmax import Softmax
from bnnbench.methods.networks import architectures as vocabulary
from bnnbench.methods.networks.passes import Parameters, Pass, Rule
from bnnbench.methods.networks.torch_layers import (
    RULES,
    channel_map,
    channel_moments,
    one_by_one,
    per_channel,
    realigned,
)

Sigmoid = Literal["exact", "paper"]


@dataclass(frozen=True)
class Formulas:
    """The choice of formulas for moments with several formulas."""

    variance: Variance = "exact"
    """Formula for the variance of ReLU, LeakyReLU and maxima."""
    bernoulli: Bernoulli = "ap2b"
    softmax: Softmax = "simplified"
    sigmoid: Sigmoid = field(default="exact", metadata=earlier("paper"))
    """Formula for Sigmoid: quadrature, or the paper's."""

    def __post_init__(self) -> None:
        require_choice(self, "variance", get_args(Variance))
        require_choice(self, "bernoulli", get_args(Bernoulli))
        require_choice(self, "softmax", get_args(Softmax))
        require_choice(self, "sigmoid", get_args(Sigmoid))


def moment_rules(formulas: Formulas = Formulas()) -> dict[type[vocabulary.Layer], Rule]:
    """Return the rules by which `Moments` pass through a network."""
    variance = formulas.variance
    smooth_step = sigmoid if formulas.sigmoid == "exact" else logistic_transform
    return {
        vocabulary.Linear: linear_in_weights,
        vocabulary.Conv2d: linear_in_weights,
        vocabulary.ReLU: lambda layer, _, x, context: relu(x, variance),
        vocabulary.LeakyReLU: lambda layer, _, x, context: leaky_relu(x, layer.slope, variance),
        vocabulary.Swish: unitwise(lambda _, x: swish(x)),
        vocabulary.Tanh: unitwise(lambda _, x: tanh(x)),
        vocabulary.Sigmoid: unitwise(lambda _, x: smooth_step(x)),
        vocabulary.LogisticBernoulli: unitwise(
            lambda _, x: logistic_bernoulli(x, formulas.bernoulli)
        ),
        vocabulary.MaxPool2d: unitwise(lambda layer, x: max_pool(x, layer.size, variance)),
        vocabulary.AvgPool2d: averaged(lambda layer, _: layer.size**2),
        vocabulary.GlobalAvgPool2d: averaged(lambda _, x: x.shape[-2] * x.shape[-1]),
        vocabulary.Flatten: lambda layer, _, x, context: of_both(x, lambda t: t.flatten(2)),
        vocabulary.Dropout: lambda layer, _, x, context: dropout(x, layer.rate),
        vocabulary.GaussianNoise: lambda layer, _, x, context: gaussian_noise(x, layer.variance),
        vocabulary.BatchNorm: batch_norm,
        vocabulary.AnalyticNorm: analytic_norm,
        vocabulary.FeatureResponseNorm: refusal("BatchNorm or AnalyticNorm"),
        vocabulary.MeanAndLogVariance: refusal("one output per target"),
        vocabulary.TorchModule: refusal("Linear and Conv2d in place of a module"),
    }


def linear_in_weights(
    layer: vocabulary.Linear | vocabulary.Conv2d,
    stacks: Sequence[Parameters],
    x: Moments,
    context: Pass,
) -> Moments:
    r"""Return the moments after a dense layer or a convolution with weights w, or N(w, s²).

    $$ m' = w m + b, \qquad v' = w^2 v + s^2 (m^2 + v) + s_b^2, $$

    exactly for independent inputs.
    """
    mean_parameters, *uncertain = stacks
    rule = partial(_shared_once, RULES[type(layer)], layer, context)
    parts = (
        []
        if x.variance is None
        else [rule({"weight": mean_parameters["weight"].square()}, x.variance)]
    )
    for std in uncertain:
        squares = {name: value.square() for name, value in std.items()}
        parts.append(rule(squares, second_moment(x)))
    return Moments(rule(mean_parameters, x.mean), sum(parts[1:], parts[0]) if parts else None)


def _shared_once(
    rule: Rule, layer: Any, context: Pass, parameters: Parameters, x: Tensor
) -> Tensor:
    """Return the rule's output, computed once if all points share one tensor."""
    points = x.shape[1]
    if points == 1 or x.stride(1):
        return rule(layer, [parameters], x, context)
    # Channels are last in memory, which makes the gradient, a sum over points, fast.
    y = rule(layer, [parameters], x[:, :1], context).movedim(2, -1)
    return y.expand(-1, points, *y.shape[2:]).movedim(-1, 2)


def second_moment(x: Moments) -> Tensor:
    """Return the mean of the square."""
    return x.mean.square() if x.variance is None else x.mean.square() + x.variance


def unitwise(function: Callable[[Any, Moments], Moments]) -> Rule:
    """Return the rule that applies `function`, of a layer and moments, to each member."""
    return lambda layer, _, x, context: member_by_member(partial(function, layer), x)


def member_by_member(function: Callable[[Moments], Moments], x: Moments) -> Moments:
    """Return `function` of each member's moments, stacked, with the rounding of separate calls."""
    if len(x) == 1:
        return function(x)
    rows = [function(row) for row in alone(x)]
    variances = [row.variance for row in rows if row.variance is not None]
    return Moments(
        torch.cat([row.mean for row in rows]), torch.cat(variances) if variances else None
    )


def alone(x: Moments) -> list[Moments]:
    """Return stacks of one member each."""
    means = map(realigned, x.mean.split(1))
    variances = repeat(None) if x.variance is None else map(realigned, x.variance.split(1))
    return [Moments(m, v) for m, v in zip(means, variances, strict=False)]


def of_both(x: Moments, function: Callable[[Tensor], Tensor]) -> Moments:
    """Return `function` of the mean and of the variance."""
    return Moments(function(x.mean), None if x.variance is None else function(x.variance))


def averaged(count: Callable[[Any, Moments], int]) -> Rule:
    """Return the rule for an average of `count` independent units."""

    def rule(layer: Any, stacks: Sequence[Parameters], x: Moments, context: Pass) -> Moments:
        y = of_both(x, lambda t: RULES[type(layer)](layer, stacks, t, context))
        return y if y.variance is None else replace(y, variance=y.variance / count(layer, x))

    return rule


def gaussian_noise(x: Moments, variance: float) -> Moments:
    """Return the moments of x + N(0, variance)."""
    if x.variance is not None:
        return replace(x, variance=x.variance + variance)
    return with_variance(x.mean, variance)


def with_variance(mean: Tensor, variance: float) -> Moments:
    """Return units with one known variance; if it is 0, their variance is None."""
    if not variance:
        return Moments(mean)
    return Moments(mean, mean.new_full((1,) * mean.dim(), variance).expand_as(mean))


def batch_norm(
    layer: vocabulary.BatchNorm, stacks: Sequence[Parameters], x: Moments, context: Pass
) -> Moments:
    """Return the moments after an affine map per channel.

    In training its statistics are computed over all units of a channel: mean(m) and, by the law of
    total variance, mean(v) + variance(m). The paper does not define them; this is our choice.
    It also applies to exactly known units: torch's norm would save the running statistics for its
    gradient, and later norms modify them, because all norms' statistics share one tensor.
    """
    parameters = stacks[0]
    if context.training:
        momentum = layer.momentum if context.momentum is None else context.momentum
        statistic = batch_statistic(parameters, x, momentum)
    elif "running_mean" in parameters:
        statistic = {"mean": parameters["running_mean"], "variance": parameters["running_variance"]}
    else:
        raise ValueError("needed buffers: BatchNorm uses running statistics in evaluation")
    return normalised(x, stacks, statistic, layer.epsilon)


def batch_statistic(parameters: Parameters, x: Moments, momentum: float) -> dict[str, Tensor]:
    """Return mean and variance of each member's channels, and update the running statistics."""
    variances = torch.zeros_like(x.mean) if x.variance is None else x.variance
    means, totals = [], []
    for member, (m, v) in enumerate(zip(x.mean, variances, strict=True)):
        mean, between = channel_moments(realigned(m))
        within, count = channel_moments(realigned(v))[0], m[:, 0].numel()
        means.append(mean)
        totals.append(between + within)
        if "running_mean" in parameters:
            unbiased = between.detach() * (count / max(1, count - 1)) + within.detach()
            parameters["running_mean"][member].lerp_(mean.detach(), momentum)
            parameters["running_variance"][member].lerp_(unbiased, momentum)
    return {"mean": torch.stack(means), "variance": torch.stack(totals)}


def analytic_norm(
    layer: vocabulary.AnalyticNorm, stacks: Sequence[Parameters], x: Moments, context: Pass
) -> Moments:
    """Return the moments after an affine map whose statistics follow from the weights."""
    if "mean" not in stacks[0]:
        raise ValueError("needed buffers: AnalyticNorm starts from the statistics of the inputs")
    return normalised(x, stacks, {}, layer.epsilon)


def normalised(
    x: Moments, stacks: Sequence[Parameters], statistic: Parameters, epsilon: float
) -> Moments:
    """Return γ (x - mean)/√(variance + ε) + β per channel, for fixed or Gaussian γ and β."""
    mean_parameters, *uncertain = stacks
    mean_parameters = {**mean_parameters, **statistic}
    mean, *parts = _affine(x, *channel_map(mean_parameters, epsilon))
    for std in uncertain:
        plain = {
            **mean_parameters,
            "weight": torch.ones_like(mean_parameters["weight"]),
            "bias": 0 * mean_parameters["bias"],
        }
        standard = Moments(*_affine(x, *channel_map(plain, epsilon)))
        squares = std["weight"].square(), std["bias"].square()
        parts.append(one_by_one(per_channel, second_moment(standard), *squares))
    return Moments(mean, sum(parts[1:], parts[0]) if parts else None)


def _affine(x: Moments, scale: Tensor, offset: Tensor) -> list[Tensor]:
    """Return the mean of scale x + offset, and its variance if there is one."""
    mean = one_by_one(per_channel, x.mean, scale, offset)
    if x.variance is None:
        return [mean]
    return [mean, one_by_one(per_channel, x.variance, scale.square())]


def refusal(cure: str) -> Rule:
    """Return the rule for a layer without moments here; `cure` names an alternative."""

    def rule(layer: Any, _: Sequence[Parameters], __: Any, ___: Pass) -> Any:
        raise Unsupported(f"needed layers that can propagate moments, such as {cure}; got {layer}")

    return rule
