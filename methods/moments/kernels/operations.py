"""The Python part of the kernels, the same in main memory and on a device."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

Units = Float[Tensor, "*shape"]


class Operations(ABC):
    """The functions of `reference`, in compiled code that `call` finds by name."""

    @abstractmethod
    def call(self, name: str, numbers: tuple[float, ...], tensors: list[Tensor]) -> None:
        """Run compiled code on tensors in one dense layout; the last ones are results."""

    def rectifier(
        self, mean: Units, variance: Units, slope: float, exact: bool
    ) -> tuple[Units, Units]:
        """Return mean and variance of X if X > 0 and slope X otherwise, for a normal X."""
        return self._two("rectifier_all", exact, (float(slope),), mean, variance)

    def rectifier_gradient(
        self,
        mean: Units,
        variance: Units,
        to_mean: Units,
        to_variance: Units,
        slope: float,
        exact: bool,
    ) -> tuple[Units, Units]:
        """Return the gradients to a normal's moments, given the gradients to its rectifier's."""
        tensors = (mean, variance, to_mean, to_variance)
        return self._two("rectifier_gradient_all", exact, (float(slope),), *tensors)

    def maximum(
        self, x_mean: Units, x_variance: Units, y_mean: Units, y_variance: Units, exact: bool
    ) -> tuple[Units, Units]:
        """Return mean and variance of the maximum of two independent normals."""
        return self._two("maximum_all", exact, (), x_mean, x_variance, y_mean, y_variance)

    def maximum_gradient(
        self,
        x_mean: Units,
        x_variance: Units,
        y_mean: Units,
        y_variance: Units,
        to_mean: Units,
        to_variance: Units,
        exact: bool,
    ) -> tuple[Units, Units, Units, Units]:
        """Return the gradients to two normals' moments, given the gradients to their maximum's."""
        tensors = (x_mean, x_variance, y_mean, y_variance, to_mean, to_variance)
        out = self._filled("maximum_gradient_all", exact, (), 4, *tensors)
        return out[0], out[1], out[2], out[3]

    def _two(
        self, name: str, exact: bool, numbers: tuple[float, ...], *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:
        mean, variance = self._filled(name, exact, numbers, 2, *tensors)
        return mean, variance

    def _filled(
        self, name: str, exact: bool, numbers: tuple[float, ...], results: int, *tensors: Tensor
    ) -> list[Tensor]:
        """Return buffers for results, in the layout of the first tensor if it is dense."""
        first, *others = tensors
        for other in others:
            # Kernels read memory unchecked.
            if (other.shape, other.dtype, other.device) != (first.shape, first.dtype, first.device):
                raise ValueError(
                    f"needed tensors of shape {tuple(first.shape)}, type {first.dtype}, on "
                    f"{first.device}; got {tuple(other.shape)}, {other.dtype}, {other.device}"
                )
        out = [torch.empty_like(first) for _ in range(results)]
        laid = [_laid_as(out[0], tensor) for tensor in tensors]
        self.call(name if exact else f"paper_{name}", numbers, [*laid, *out])
        return out


def _laid_as(pattern: Tensor, tensor: Tensor) -> Tensor:
    """Return the tensor in the memory layout of `pattern`, which is dense."""
    sides = zip(pattern.shape, pattern.stride(), tensor.stride(), strict=True)
    if all(size == 1 or wanted == other for size, wanted, other in sides):
        return tensor
    return torch.empty_like(pattern).copy_(tensor)
