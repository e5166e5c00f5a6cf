"""The kernels' work in Python, which is the same in main memory and on a device."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

Units = Float[Tensor, "*shape"]


class Operations(ABC):
    """Both functions of `reference`, of compiled code that `call` finds by its name."""

    @abstractmethod
    def call(self, name: str, slope: float, tensors: list[Tensor]) -> None:
        """Run compiled code on tensors of one dense layout, of which the last two are results."""

    def rectifier(
        self, mean: Units, variance: Units, slope: float, exact: bool
    ) -> tuple[Units, Units]:
        """Return mean and variance of X where X > 0 and of slope X elsewhere, of a normal X."""
        return self._filled("rectifier_all", slope, exact, mean, variance)

    def rectifier_gradient(
        self,
        mean: Units,
        variance: Units,
        to_mean: Units,
        to_variance: Units,
        slope: float,
        exact: bool,
    ) -> tuple[Units, Units]:
        """Return the gradients to mean and variance of those to the moments of a rectifier."""
        tensors = (mean, variance, to_mean, to_variance)
        return self._filled("rectifier_gradient_all", slope, exact, *tensors)

    def _filled(
        self, name: str, slope: float, exact: bool, *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return both results, in the layout of the first tensor if that is dense."""
        first, *others = tensors
        for other in others:
            # Kernels read memory unchecked.
            if (other.shape, other.dtype, other.device) != (first.shape, first.dtype, first.device):
                raise ValueError(
                    f"needed tensors of shape {tuple(first.shape)}, type {first.dtype}, on "
                    f"{first.device}; got {tuple(other.shape)}, {other.dtype}, {other.device}"
                )
        out = torch.empty_like(first), torch.empty_like(first)
        laid = [_laid_as(out[0], tensor) for tensor in tensors]
        self.call(name if exact else f"paper_{name}", float(slope), [*laid, *out])
        return out


def _laid_as(pattern: Tensor, tensor: Tensor) -> Tensor:
    """Return the tensor with its elements in memory as those of `pattern`, which is dense."""
    sides = zip(pattern.shape, pattern.stride(), tensor.stride(), strict=True)
    if all(size == 1 or own == other for size, own, other in sides):
        return tensor
    return torch.empty_like(pattern).copy_(tensor)
