"""Comparison of a fast kernel with the reference, element by element."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import reference
from tests.methods.message_passing.factors.messages import random_messages
from tests.methods.message_passing.kernels.test_reference import a_layer, later_arguments

SLOPES = (0.1, 0.0, 1.0)


def moved(message: Gaussian, device: str) -> Gaussian:
    """Return the message on a device."""
    return Gaussian(message.tau.to(device), message.rho.to(device))


def difference(found: Gaussian, expected: Gaussian, *others: Gaussian) -> float:
    """Return the largest difference of products with other messages, in relative precision.

    Means count in standard deviations or, if far from 0, relatively: a precision that is tiny
    compared with its factor need not have many digits.
    """
    whole = expected.rho.double()
    for other in others:
        whole = whole + other.rho.double()
    tau = (found.tau.double() - expected.tau.double()).abs()
    rho = (found.rho.double() - expected.rho.double()).abs()
    scale = expected.tau.double().abs() + whole.sqrt()
    for other in others:
        scale = scale + other.tau.double().abs()
    return max((rho / whole).max().item(), (tau / scale).max().item())


def unequal_guards(z: Gaussian, a: Gaussian, slope: float, kernels: Any) -> int:
    """Return the difference in fall-backs of either direction between kernels and reference."""
    total = 0
    for name in ("leaky_relu_forward", "leaky_relu_backward"):
        found = getattr(kernels, name)(z, a, slope)[1].cpu()
        expected = getattr(reference, name)(moved(z, "cpu"), moved(a, "cpu"), slope)[1]
        total += int((found - expected).abs().sum())
    return total


def sums(dtype: torch.dtype) -> dict[str, tuple[Tensor, ...]]:
    """Return arguments of every exact sum; odd sizes, and some units without a message."""
    layer = a_layer(3, 37, 21, 19, seed=2)
    a = tuple(argument.to(dtype) for argument in later_arguments(layer))
    x, g, h = layer.x.to(dtype) / 5, a[4] / 9, a[5]
    return {
        "exact_weight_sums": a,
        "exact_input_sums": a,
        "exact_first_forward": (x, a[2], a[3], g, h),
        "exact_first_weight_sums": (x, a[2], a[3], g, h, g.roll(1, 1), h.roll(1, 1)),
    }


def as_message(out: Gaussian | tuple[Tensor, ...]) -> Gaussian:
    """Return two tensors, in whichever form a function returns them."""
    if isinstance(out, Gaussian):
        return out
    return out[0] if isinstance(out[0], Gaussian) else Gaussian(*out)


Call = Callable[[Any], Gaussian]


def elementwise(dtype: torch.dtype, device: str = "cpu") -> dict[str, Call]:
    """Return a call of every other function, with odd shapes."""

    def messages(*shape: int, seed: int) -> Gaussian:
        return moved(random_messages(*shape, seed=seed, dtype=dtype), device)

    z, a = (messages(3, 29, 11, seed=seed) for seed in range(2))
    images, back = messages(3, 4, 5, 7, 9, seed=4), messages(3, 4, 5, 3, 4, seed=5)
    labels = torch.randint(0, 11, (3, 29), generator=torch.Generator().manual_seed(1)).to(device)
    calls: dict[str, Call] = {
        "pool forward": lambda k: k.max_pool_forward(images, 2),
        "pool backward": lambda k: k.max_pool_backward(images, back, 2),
        "argmax": lambda k: k.argmax_backward(z, labels, 0.3, None),
        "argmax, regularised": lambda k: k.argmax_backward(z, labels, 0.3, 0.1),
    }
    for slope in SLOPES:
        calls |= {
            f"forward {slope}": lambda k, s=slope: k.leaky_relu_forward(z, a, s)[0],
            f"backward {slope}": lambda k, s=slope: k.leaky_relu_backward(z, a, s)[0],
            f"direct {slope}": lambda k, s=slope: k.leaky_relu_forward(z, None, s)[0],
        }
    return calls
