"""The Python part of operations without a common pattern (patterns.py), on every device.

It checks tensors and their layouts, allocates results, and passes them to compiled code. The
functions' further arguments are those of the definitions in plain torch, whose results they have.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import Images, alike, contiguous, laid_as
from bnnbench.methods.message_passing.kernels.patterns import (
    Call,
    OnUnits,
    message_of_examples,
    two_messages_of_features,
)
from bnnbench.methods.message_passing.stacks import InputMoments, InputSums, LaterSums

Counts = Int[Tensor, " members"]


def counted(
    call: Call, name: str, z: Gaussian, a: Gaussian, slope: float, counts: Counts
) -> Gaussian:
    """Return an activation's messages, and add replacements by a guard to the counts."""
    inputs, out = alike(z.tau, z.rho, a.tau, a.rho)
    members = z.shape[0]
    each = z.rho.numel() // max(1, members)
    arguments = (members, each, float(slope), *inputs, out.tau, out.rho, counts)
    call(name, z.rho.dtype, *arguments)
    return out


def counted_forward(
    call: Call,
    name: str,
    direct: str,
    z: Gaussian,
    a: Gaussian | None,
    slope: float,
    counts: Counts,
) -> Gaussian:
    """Return an activation's forward messages; without `a` they are direct, and none is counted."""
    if a is not None:
        return counted(call, name, z, a, slope, counts)
    inputs, out = alike(z.tau, z.rho)
    call(direct, z.rho.dtype, z.rho.numel(), float(slope), *inputs, out.tau, out.rho)
    return out


def with_counts(operation: Callable[..., Gaussian]) -> Callable[..., tuple[Gaussian, Counts]]:
    """Return an operation that also returns new counts instead of adding to given ones."""

    def activation(call: Call, *arguments: Any) -> tuple[Gaussian, Counts]:
        *_, z, _, _ = arguments
        counts = torch.zeros(z.shape[0], dtype=torch.int64, device=z.rho.device)
        return operation(call, *arguments, counts), counts

    return activation


def max_pool_forward(call: Call, name: str, z: Gaussian, size: int) -> Gaussian:
    """Return the message to each window of size x size; a ragged border is dropped."""
    images = Images.of(z, size)
    out = images.to_windows()
    _pool(call, name, images, *images.inputs, out.tau, out.rho)
    return images.shaped(out)


def max_pool_backward(call: Call, name: str, z: Gaussian, back: Gaussian, size: int) -> Gaussian:
    """Return the message to each input: uniform in the border that pooling dropped."""
    images = Images.of(z, size)
    out = images.to_inputs()
    _pool(call, name, images, *images.inputs, *images.windows(back), out.tau, out.rho)
    return images.shaped(out)


def _pool(call: Call, name: str, images: Images, *tensors: Tensor) -> None:
    if call(name, tensors[0].dtype, images.count, images.layout, *tensors):
        raise MemoryError("no memory for the offsets of an image's windows")


def argmax_backward(
    call: Call,
    name: str,
    z: Gaussian,
    labels: Int[Tensor, "members rows"],
    noise_variance: float,
    target_variance: float | None,
) -> Gaussian:
    """Return the messages of the labels to the outputs of all classes."""
    (labels,) = contiguous(z.rho, z.shape[:-1], labels, dtype=torch.int64)
    inputs = contiguous(z.tau, z.shape, z.tau, z.rho)
    out = _empty(z.rho)
    precision = 0.0 if target_variance is None else 1 / target_variance
    numbers = (labels.numel(), z.shape[-1], float(noise_variance), precision)
    if call(name, z.rho.dtype, *numbers, *inputs, labels, out.tau, out.rho):
        raise ValueError(f"needed labels from 0 to {z.shape[-1] - 1}; got {labels.unique()}")
    return out


def argmax_loss(
    call: Call, name: str, z: Gaussian, labels: Tensor, noise_variance: float
) -> Tensor:
    """Return the negative log probability of each label."""
    (labels,) = contiguous(z.rho, z.shape[:-1], labels, dtype=torch.int64)
    inputs = contiguous(z.tau, z.shape, z.tau, z.rho)
    loss = torch.empty_like(labels, dtype=z.rho.dtype)
    numbers = (labels.numel(), z.shape[-1], float(noise_variance))
    call(name, z.rho.dtype, *numbers, *inputs, labels, loss)
    return loss


def row_sums(inputs: int, pattern: int) -> Callable[..., Gaussian]:
    """Return an operation that sums messages over rows, inputs or outputs.

    Its arguments are `inputs` tensors of rows, of which later ones may be None, two of weights, and
    units; results have the shape of argument `pattern`.
    """

    def sums(call: Call, name: str, *arguments: Any) -> Gaussian:
        rows, weights, units = arguments[:inputs], arguments[inputs:][:2], arguments[inputs + 2 :]
        (members, outputs, fan_in), count = weights[0].shape, rows[0].shape[1]
        out = _empty(arguments[pattern])
        given = contiguous(rows[0], (members, count, fan_in), *(t for t in rows if t is not None))
        call(
            name,
            out.rho.dtype,
            (members, count, fan_in, outputs),
            *(None if t is None else given.pop(0) for t in rows),
            *contiguous(rows[0], (members, outputs, fan_in), *weights),
            *contiguous(rows[0], (members, count, outputs), *units),
            *(out.tau, out.rho),
        )
        return out

    return sums


def first_forward(call: Call, name: str, *arguments: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weights' part of a first layer's mean and variance, under cavities."""
    sums = row_sums(1, pattern=3)(call, name, *arguments)
    return sums.tau, sums.rho


def dense_sums(
    call: Call, name: str, weight: Gaussian, inputs: InputMoments, variance: Tensor | None
) -> LaterSums:
    """Return the moments of Σ a w for every output; fill `variance` with the weights'."""
    sizes, (moments,) = _sizes(weight, inputs)
    given = laid_as(weight.rho, (weight.tau, weight.rho), (variance,))
    members, rows, _, outputs = sizes
    sums = moments.new_empty(3 * members, rows, outputs)
    call(name, sums.dtype, sizes, *given, moments, variance, sums)
    return LaterSums.of(sums)


def dense_messages(
    call: Call,
    name: str,
    marginal: Gaussian,
    total: Gaussian | None,
    inputs: InputMoments,
    h: Tensor,
    g: Tensor,
    old: Gaussian | None,
    stored: Gaussian | None,
    damping: float,
) -> InputSums:
    """Exchange the messages of rows to weights, to zeroth order; return sums for inputs."""
    sizes, rows = _sizes(marginal, inputs, h, g)
    filled = (*_pair(stored), *_pair(total), marginal.tau, marginal.rho)
    given = laid_as(marginal.rho, _pair(old), filled)
    sums = torch.empty_like(rows[0])
    if call(name, sums.dtype, sizes, float(damping), *rows, *given, *filled, sums):
        raise MemoryError("no memory for the moments of a group's inputs")
    return InputSums.of(sums)


BIAS_MESSAGES = OnUnits("g h bias:2 old:2 damping:0", message_of_examples)
BIAS_EXCHANGE = OnUnits("messages:2 bias:2 old_sum:2 -> total:2", two_messages_of_features)


def exchange_bias(
    call: Call,
    send: str,
    exchange: str,
    g: Tensor,
    h: Tensor,
    bias: Gaussian,
    old: Gaussian | None,
    old_sum: Gaussian | None,
    total: Gaussian | None,
    damping: float,
) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Return the examples' messages to the biases, their product, and the new marginals."""
    messages = BIAS_MESSAGES(call, send, g, h, bias, old, damping)
    product, marginal = BIAS_EXCHANGE(call, exchange, messages, bias, old_sum, total)
    return messages, product, marginal


def _pair(message: Gaussian | None) -> tuple[Tensor | None, Tensor | None]:
    return (message.tau, message.rho) if message else (None, None)


def _empty(pattern: Tensor) -> Gaussian:
    def empty() -> Tensor:
        return torch.empty_like(pattern, memory_format=torch.contiguous_format)

    return Gaussian(empty(), empty())


def _sizes(
    weight: Gaussian, moments: InputMoments, *units: Tensor
) -> tuple[tuple[int, int, int, int], list[Tensor]]:
    """Return numbers of members, rows, inputs and outputs, and the checked tensors with rows."""
    members, outputs, inputs = weight.shape
    rows = moments.stacked.shape[1]
    tensors = contiguous(weight.rho, (3 * members, rows, inputs), moments.stacked)
    tensors += contiguous(weight.rho, (members, rows, outputs), *units)
    if not weight.rho.is_contiguous():
        raise ValueError(f"needed contiguous weights; got strides {weight.rho.stride()}")
    return (members, rows, inputs, outputs), tensors
