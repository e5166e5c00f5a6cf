"""The kernels in C, for tensors in main memory. Their meaning is that of `reference`.

Single precision is computed in single precision: nothing cancels but in precisions near 0, of
which a guard replaces most. No element's bits depend on where in a tensor it stands.
"""

from ctypes import Array, c_double, c_int64, c_void_p
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from methods.message_passing.gaussian import Gaussian
from methods.message_passing.kernels import library
from methods.message_passing.kernels.layouts import Images, alike, contiguous, integers

Rows = Float[Tensor, "members rows inputs"]
Weights = Float[Tensor, "members outputs inputs"]
Units = Float[Tensor, "members rows outputs"]

ARGUMENTS = {
    "leaky_relu_direct_all": "nrpppp",
    "leaky_relu_forward_all": "nnrppppppp",
    "leaky_relu_backward_all": "nnrppppppp",
    "swap_all": "npppppppp",
    "argmax_backward_all": "nnrrppppp",
    "max_pool_forward_all": "nppppp",
    "max_pool_backward_all": "nppppppp",
    "exact_weight_sums_all": "ppppppppp",
    "exact_input_sums_all": "ppppppppp",
    "exact_first_forward_all": "pppppppp",
    "exact_first_weight_sums_all": "pppppppppp",
}
"""What the functions in C take: n lengths, r numbers, p addresses."""
TYPES = {"n": c_int64, "r": c_double, "p": c_void_p}


def leaky_relu_forward(
    z: Gaussian, a: Gaussian | None, slope: float
) -> tuple[Gaussian, Int[Tensor, " members"]]:
    """Return the messages to a = LeakyReLU(z), and the fall-backs of each member."""
    if a is not None:
        return _activation("leaky_relu_forward_all", z, a, slope)
    inputs, out = alike(z.tau, z.rho)
    count = z.rho.numel()
    _call("leaky_relu_direct_all", z.rho.dtype, count, slope, *inputs, out.tau, out.rho)
    return out, torch.zeros(z.shape[0], dtype=torch.int64)


def leaky_relu_backward(
    z: Gaussian, a: Gaussian, slope: float
) -> tuple[Gaussian, Int[Tensor, " members"]]:
    """Return the messages to z, and how often a guard replaced them, for each member."""
    return _activation("leaky_relu_backward_all", z, a, slope)


def max_pool_forward(z: Gaussian, size: int) -> Gaussian:
    """Return the message to each window of size x size; a ragged border is dropped."""
    images = Images.of(z, size)
    out = images.to_windows()
    _pool("max_pool_forward_all", images, *images.inputs, out.tau, out.rho)
    return images.shaped(out)


def max_pool_backward(z: Gaussian, back: Gaussian, size: int) -> Gaussian:
    """Return the message to each input: uniform in the border that pooling dropped."""
    images = Images.of(z, size)
    out = images.to_inputs()
    windows = images.windows(back)
    _pool("max_pool_backward_all", images, *images.inputs, *windows, out.tau, out.rho)
    return images.shaped(out)


def argmax_backward(
    z: Gaussian,
    labels: Int[Tensor, "members rows"],
    noise_variance: float,
    target_variance: float | None,
) -> Gaussian:
    """Return the messages of the labels to the outputs of all classes."""
    labels = labels.to(torch.int64)
    (labels,) = contiguous(labels, z.shape[:-1], labels)
    inputs = contiguous(z.tau, z.shape, z.tau, z.rho)
    out = _empty(z.rho)
    precision = 0.0 if target_variance is None else 1 / target_variance
    numbers = (labels.numel(), z.shape[-1], noise_variance, precision)
    if _call("argmax_backward_all", z.rho.dtype, *numbers, *inputs, labels, out.tau, out.rho):
        raise ValueError(f"needed labels from 0 to {z.shape[-1] - 1}; got {labels.unique()}")
    return out


def exact_weight_sums(
    input_mean: Rows,
    input_variance: Rows,
    weight_mean: Weights,
    weight_variance: Weights,
    g: Units,
    h: Units,
) -> Gaussian:
    """Return the messages of all rows to each weight of a later layer, multiplied."""
    rows, weights, units = (input_mean, input_variance), (weight_mean, weight_variance), (g, h)
    return _sums("exact_weight_sums_all", rows, weights, units, _empty(weight_mean))


def exact_input_sums(
    input_mean: Rows,
    input_variance: Rows,
    weight_mean: Weights,
    weight_variance: Weights,
    g: Units,
    h: Units,
) -> Gaussian:
    """Return the messages of all outputs to each input of a later layer, multiplied."""
    rows, weights, units = (input_mean, input_variance), (weight_mean, weight_variance), (g, h)
    return _sums("exact_input_sums_all", rows, weights, units, _empty(input_mean))


def exact_first_forward(
    x: Rows, weight_mean: Weights, weight_variance: Weights, g: Units, h: Units
) -> tuple[Units, Units]:
    """Return the weights' part of mean and variance of a first layer, under cavities."""
    weights = (weight_mean, weight_variance)
    sums = _sums("exact_first_forward_all", (x,), weights, (g, h), _empty(g))
    return sums.tau, sums.rho


def exact_first_weight_sums(
    x: Rows,
    weight_mean: Weights,
    weight_variance: Weights,
    g_old: Units,
    h_old: Units,
    g: Units,
    h: Units,
) -> Gaussian:
    """Return the messages of all rows to each weight of a first layer, multiplied."""
    weights, units = (weight_mean, weight_variance), (g_old, h_old, g, h)
    return _sums("exact_first_weight_sums_all", (x,), weights, units, _empty(weight_mean))


def swap(marginal: Gaussian, old: Gaussian, new: Gaussian) -> Gaussian:
    """Return the marginal in which one message takes the place of another."""
    inputs, out = alike(*(part for m in (marginal, old, new) for part in (m.tau, m.rho)))
    _call("swap_all", marginal.rho.dtype, marginal.rho.numel(), *inputs, out.tau, out.rho)
    return out


def _activation(
    name: str, z: Gaussian, a: Gaussian, slope: float
) -> tuple[Gaussian, Int[Tensor, " members"]]:
    inputs, out = alike(z.tau, z.rho, a.tau, a.rho)
    members = z.shape[0]
    counts = torch.zeros(members, dtype=torch.int64)
    each = z.rho.numel() // max(1, members)
    _call(name, z.rho.dtype, members, each, slope, *inputs, out.tau, out.rho, counts)
    return out, counts


def _pool(name: str, images: Images, *tensors: Tensor) -> None:
    if _call(name, tensors[0].dtype, images.count, integers(*images.layout), *tensors):
        raise MemoryError("no memory for the places of an image's windows")


def _sums(
    name: str,
    rows: tuple[Tensor, ...],
    weights: tuple[Tensor, Tensor],
    units: tuple[Tensor, ...],
    out: Gaussian,
) -> Gaussian:
    (members, outputs, inputs), count = weights[0].shape, rows[0].shape[1]
    _call(
        name,
        out.rho.dtype,
        integers(members, count, inputs, outputs),
        *contiguous(rows[0], (members, count, inputs), *rows),
        *contiguous(rows[0], (members, outputs, inputs), *weights),
        *contiguous(rows[0], (members, count, outputs), *units),
        *(out.tau, out.rho),
    )
    return out


def _empty(like: Tensor) -> Gaussian:
    def empty() -> Tensor:
        return torch.empty_like(like, memory_format=torch.contiguous_format)

    return Gaussian(empty(), empty())


def _call(name: str, dtype: torch.dtype, *arguments: Tensor | Array | float) -> int:
    """Call a function of the library for this type; return its status."""
    return _function(name, dtype)(*(a.data_ptr() if type(a) is Tensor else a for a in arguments))


@cache
def _function(name: str, dtype: torch.dtype) -> Any:
    function = getattr(library.load(dtype), name)
    function.argtypes = [TYPES[kind] for kind in ARGUMENTS[name]]
    return function
