"""Computation rules of layers, for several members (networks of different weights) at once.

A rule takes a layer, its parameters and its input, both with a leading axis of members, and
returns the output. No member's result depends on another, to the last bit: products are
batched, and if a library's rounding depends on the batch, members are computed one by one.
Images are stored channels last, which makes convolutions fast.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks import architectures as vocabulary
from bnnbench.methods.networks.alignment import aligned, put_back
from bnnbench.methods.networks.modules.rule import module_rule
from bnnbench.methods.networks.passes import Parameters, Pass, Rule

Images = Float[Tensor, "members points channels height width"]
Vectors = Float[Tensor, "members points features"]
NewImages = Float[Tensor, "members points new_channels new_height new_width"]
NewVectors = Float[Tensor, "members points outputs"]

LARGE = 2**16
"""Number of weights above which transposing a matrix costs more than transposing activations."""


def linear(
    layer: vocabulary.Linear, stacks: Sequence[Parameters], x: Vectors, _: Pass
) -> NewVectors:
    """Return x Wᵀ + b."""
    (parameters,) = stacks
    return affine(x, parameters["weight"], parameters.get("bias"))


def affine(
    x: Vectors,
    weight: Float[Tensor, "members outputs features"],
    bias: Float[Tensor, "members outputs"] | None = None,
) -> NewVectors:
    """Return x Wᵀ + b.

    MKL's rounding of a product depends on the operands' addresses. Points and features are
    therefore padded with zeros to multiples of 4, which aligns every member's matrices to 16
    bytes.
    """
    points, (outputs, features) = x.shape[1], weight.shape[1:]
    if outputs == 1:  # a product of one output rounds differently in a batch
        product = (x * weight).sum(-1, keepdim=True)
        return product if bias is None else product + bias.unsqueeze(1)
    if points % 4 or features % 4:
        x = F.pad(x, (0, -features % 4, 0, -points % 4))
    if features % 4:
        weight = F.pad(weight, (0, -features % 4))
    elif weight.storage_offset() % 4 or (len(weight) > 1 and weight.stride(0) % 4):
        weight = weight.clone()
    if outputs % 4 == 0 and outputs * features >= LARGE:
        # The gradient of the weights is then untransposed, which saves a copy.
        product = _product(weight, x.mT, bias, 2).mT.contiguous()
    else:
        product = _product(x, weight.mT, bias, 1)
    return product[:, :points] if points % 4 else product


def _product(left: Tensor, right: Tensor, bias: Tensor | None, axis: int) -> Tensor:
    if bias is None:
        return torch.bmm(left, right)
    return torch.baddbmm(bias.unsqueeze(axis), left, right)


def convolution(
    layer: vocabulary.Conv2d, stacks: Sequence[Parameters], x: Images, _: Pass
) -> NewImages:
    """Return the cross-correlation of the padded images with the kernels, plus b."""
    (parameters,) = stacks
    return one_by_one(partial(_convolve, layer), x, *parameters.values())


def _convolve(
    layer: vocabulary.Conv2d, images: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    (before, after), stride = layer.borders, layer.stride
    if is_strided_pointwise(layer):
        images, before, stride = strided(pad(images, layer), stride), 0, 1
    elif before != after or layer.padding_mode != "zeros":
        images, before = pad(images, layer), 0
    images = images.contiguous(memory_format=torch.channels_last)
    kernels = weight.clone(memory_format=torch.channels_last)
    return F.conv2d(images, kernels, bias, stride, before)


def is_strided_pointwise(layer: vocabulary.Conv2d) -> bool:
    """Return whether a 1 x 1 kernel skips pixels.

    oneDNN's gradient of such kernels, channels last, writes outside its memory on processors
    without AVX-512 (uxlfoundation/oneDNN 6035): select the pixels first, then convolve them all.
    """
    return layer.kernel == 1 and layer.stride > 1


def strided(images: Float[Tensor, "points channels height width"], stride: int) -> Tensor:
    """Return every `stride`-th row and column of pixels, starting with the first."""
    return images[..., ::stride, ::stride]


def pad(images: Float[Tensor, "points channels height width"], layer: vocabulary.Conv2d) -> Tensor:
    """Return images padded with the layer's borders."""
    before, after = layer.borders
    if before == after == 0:
        return images
    if layer.padding_mode == "zeros":
        return F.pad(images, (before, after, before, after))
    for axis in (-2, -1):
        side = images.shape[axis]
        first = images.narrow(axis, 0, before).flip(axis)
        last = images.narrow(axis, side - after, after).flip(axis)
        images = torch.cat([first, images, last], axis)
    return images


def batch_norm(
    layer: vocabulary.BatchNorm, stacks: Sequence[Parameters], x: Tensor, context: Pass
) -> Tensor:
    """Return (x - mean)/√(variance + ε) scaled and shifted; training moves the statistics."""
    (parameters,) = stacks
    if "running_mean" not in parameters and not context.training:
        raise ValueError("needed buffers: BatchNorm is evaluated with running statistics")
    momentum = layer.momentum if context.momentum is None else context.momentum
    normalise = partial(_normalise, context.training, momentum, layer.epsilon)
    return one_by_one(normalise, x, *parameters.values())


def _normalise(
    training: bool,
    momentum: float,
    epsilon: float,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor | None = None,
    variance: Tensor | None = None,
) -> Tensor:
    own_mean, own_variance = (m if m is None else aligned(m) for m in (mean, variance))
    scale, shift = aligned(weight), aligned(bias)
    outputs = F.batch_norm(x, own_mean, own_variance, scale, shift, training, momentum, epsilon)
    for moment, written in ((mean, own_mean), (variance, own_variance)):
        if moment is not None and written is not None:
            put_back(moment, written)
    return outputs


def analytic_norm(
    layer: vocabulary.AnalyticNorm, stacks: Sequence[Parameters], x: Tensor, _: Pass
) -> Tensor:
    """Return (x - m)/√(v + ε) scaled and shifted, with m and v determined by the weights."""
    (parameters,) = stacks
    if "mean" not in parameters:
        raise ValueError("needed buffers: AnalyticNorm starts from the statistics of the inputs")
    return one_by_one(per_channel, x, *channel_map(parameters, layer.epsilon))


def channel_map(parameters: Parameters, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return scale and offset of a norm with given "mean" and "variance"."""
    scale = parameters["weight"] * (parameters["variance"] + epsilon).rsqrt()
    return scale, parameters["bias"] - parameters["mean"] * scale


def per_channel(x: Tensor, scale: Tensor, offset: Tensor | None = None) -> Tensor:
    """Return scale x + offset for one member; channels are the second axis of `x`."""
    sides = (1,) * (x.dim() - 2)
    scaled = x * scale.view(-1, *sides)
    return scaled if offset is None else scaled + offset.view(-1, *sides)


def channel_moments(
    x: Float[Tensor, "points channels *sides"],
) -> tuple[Float[Tensor, " channels"], Float[Tensor, " channels"]]:
    """Return mean and variance of each channel over points and positions."""
    other_axes = [axis for axis in range(x.dim()) if axis != 1]
    variance, mean = torch.var_mean(x, other_axes, correction=0)
    return mean, variance


def feature_response_norm(
    layer: vocabulary.FeatureResponseNorm, stacks: Sequence[Parameters], x: Images, _: Pass
) -> Images:
    """Return max(γ x / √(ν² + ε) + β, τ), with ν² the mean of x² over one image's positions."""
    (parameters,) = stacks
    return one_by_one(partial(_filter_response, layer.epsilon), x, *parameters.values())


def _filter_response(epsilon: float, x: Tensor, *parameters: Tensor) -> Tensor:
    weight, bias, threshold = (parameter[:, None, None] for parameter in parameters)
    scale = weight * (x.square().mean((-2, -1), keepdim=True) + epsilon).rsqrt()
    return torch.maximum(scale * x + bias, threshold)


def dropout(layer: vocabulary.Dropout, _: Sequence[Parameters], x: Tensor, context: Pass) -> Tensor:
    """Return x times a mask of 0 and 1/(1 - rate), or x itself if noise is off."""
    if context.noise == "off" or layer.rate == 0:
        return x
    keep = 1 - layer.rate
    mask = context.draw(x, lambda row, rng: row.bernoulli_(keep, generator=rng))
    return x * mask.div_(keep)


def gaussian_noise(
    layer: vocabulary.GaussianNoise, _: Sequence[Parameters], x: Tensor, context: Pass
) -> Tensor:
    """Return x plus a normal draw, or x itself if noise is off."""
    if context.noise == "off" or layer.variance == 0:
        return x
    noise = context.draw(x, lambda row, rng: row.normal_(generator=rng))
    return x + noise.mul_(math.sqrt(layer.variance))


def logistic_bernoulli(
    layer: vocabulary.LogisticBernoulli, _: Sequence[Parameters], x: Tensor, context: Pass
) -> Tensor:
    """Return 1 where a uniform draw is below sigmoid(x), otherwise 0; no gradient.

    With noise "off" it is the mean given x, sigmoid(x), which has a gradient.
    """
    if context.noise == "off":
        return one_by_one(torch.sigmoid, x)
    uniform = context.draw(x, lambda row, rng: row.uniform_(generator=rng))
    return (uniform < one_by_one(torch.sigmoid, x)).to(x.dtype)


def one_by_one(function: Callable[..., Tensor], x: Tensor, *tensors: Tensor) -> Tensor:
    """Return `function` of each member's input and tensors, stacked."""
    if len(x) == 1 and x.dim() == 5:
        # Avoids copies. Stacked images stay channels last, but stacking can transpose vectors.
        return function(x.squeeze(0), *(tensor.squeeze(0) for tensor in tensors)).unsqueeze(0)
    rows = zip(*(tensor.unbind() for tensor in (x, *tensors)), strict=True)
    return torch.stack(
        [
            realigned(function(realigned(row), *tensors_of_member))
            for row, *tensors_of_member in rows
        ]
    )


def realigned(row: Tensor) -> Tensor:
    """Return the row at an address where library code rounds it as in a stack of one."""
    return row if row.numel() % 16 == 0 else row * 1


def _pooled(function: Callable[[Tensor, int], Tensor]) -> Rule:
    def rule(layer: Any, _: Sequence[Parameters], x: Images, __: Pass) -> NewImages:
        return function(x.flatten(0, 1), layer.size).unflatten(0, x.shape[:2])

    return rule


def _elementwise(function: Callable[[Tensor], Tensor]) -> Rule:
    return lambda layer, _, x, __: function(x)


def _elementwise_one_by_one(function: Callable[[Tensor], Tensor]) -> Rule:
    # Vectorised and remaining elements round differently.
    return lambda layer, _, x, __: one_by_one(function, x)


def mean_and_variance(
    layer: vocabulary.MeanAndLogVariance, stacks: Sequence[Parameters], x: Tensor, context: Pass
) -> Tensor:
    """Return means and variances, side by side on the last axis."""
    means, logs = x.chunk(2, -1)
    return torch.cat([means, logs.exp()], -1)


RULES: dict[type[vocabulary.Layer], Rule] = {
    vocabulary.Linear: linear,
    vocabulary.Conv2d: convolution,
    vocabulary.ReLU: _elementwise(torch.relu),
    vocabulary.LeakyReLU: lambda layer, _, x, __: F.leaky_relu(x, layer.slope),
    vocabulary.Swish: _elementwise_one_by_one(F.silu),
    vocabulary.Tanh: _elementwise(torch.tanh),
    vocabulary.Sigmoid: _elementwise_one_by_one(torch.sigmoid),
    vocabulary.NormalCdf: _elementwise_one_by_one(torch.special.ndtr),
    vocabulary.LogisticBernoulli: logistic_bernoulli,
    vocabulary.MaxPool2d: _pooled(F.max_pool2d),
    vocabulary.AvgPool2d: _pooled(F.avg_pool2d),
    vocabulary.GlobalAvgPool2d: _elementwise(lambda x: x.mean((-2, -1))),
    vocabulary.Flatten: _elementwise(lambda x: x.flatten(2)),
    vocabulary.Dropout: dropout,
    vocabulary.GaussianNoise: gaussian_noise,
    vocabulary.BatchNorm: batch_norm,
    vocabulary.AnalyticNorm: analytic_norm,
    vocabulary.FeatureResponseNorm: feature_response_norm,
    vocabulary.MeanAndLogVariance: mean_and_variance,
    vocabulary.TorchModule: module_rule,
}
