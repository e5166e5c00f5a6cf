"""The linear map of a layer, of its inputs and its weights, and both its adjoints.

All sums of a layer are made of these: matrix products for a dense layer, convolutions of the
library for a convolution. Tensors have a leading axis of members, networks side by side, of
which a convolution takes one.
"""

from dataclasses import dataclass
from math import prod
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.nn.grad import conv2d_input, conv2d_weight

from methods.architectures import Conv2d, Linear
from methods.torch_layers import affine, pad

Values = Float[Tensor, "members examples *outputs"]
Inputs = Float[Tensor, "members examples *inputs"]
Weights = Float[Tensor, "members outputs *fan_in"]
Biases = Float[Tensor, "members examples outputs"]


@runtime_checkable
class LinearMap(Protocol):
    """z = Σ x w, linear in the inputs x and in the weights w."""

    @property
    def layer(self) -> Linear | Conv2d:
        """The layer whose map it is."""
        ...

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """`(outputs, inputs)`, or `(channels, input channels, kernel, kernel)`."""
        ...

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of one example's outputs."""
        ...

    def forward(self, x: Inputs, w: Weights) -> Values:
        """Return Σ x w of every output."""
        ...

    def to_inputs(self, z: Values, w: Weights) -> Inputs:
        """Return the sum of z w over all outputs that an input enters."""
        ...

    def to_weights(self, z: Values, x: Inputs) -> Weights:
        """Return the sum of z x over all examples and positions."""
        ...

    def per_example(self, z: Values) -> Biases:
        """Return the sum over positions."""
        ...

    def spread(self, b: Biases) -> Values:
        """Return one number per output as it broadcasts over positions."""
        ...

    def rows(self, x: Inputs) -> Float[Tensor, "members rows fan_in"]:
        """Return the inputs of every position as a row."""
        ...

    def unrows(self, rows: Float[Tensor, "members rows fan_in"], x: Inputs) -> Inputs:
        """Return the sums over all rows that an input is part of: the adjoint of `rows`."""
        ...

    def output_rows(self, z: Values) -> Float[Tensor, "members rows outputs"]:
        """Return the outputs of every position as a row."""
        ...


@dataclass(frozen=True)
class Dense:
    """The map of a dense layer."""

    layer: Linear
    inputs: int

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return self.layer.outputs, self.inputs

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.layer.outputs,)

    def forward(self, x: Inputs, w: Weights) -> Values:
        return affine(x, w)

    def to_inputs(self, z: Values, w: Weights) -> Inputs:
        return affine(z, w.mT)

    def to_weights(self, z: Values, x: Inputs) -> Weights:
        return affine(z.mT, x.mT)

    def per_example(self, z: Values) -> Biases:
        return z

    def spread(self, b: Biases) -> Values:
        return b

    def rows(self, x: Inputs) -> Tensor:
        return x

    def unrows(self, rows: Tensor, x: Inputs) -> Inputs:
        return rows

    def output_rows(self, z: Values) -> Tensor:
        return z


@dataclass(frozen=True)
class Convolution:
    """The map of a convolution; where borders differ, or mirror, images are padded first."""

    layer: Conv2d
    input_shape: tuple[int, int, int]

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return self.layer.channels, self.input_shape[0], self.layer.kernel, self.layer.kernel

    @property
    def output_shape(self) -> tuple[int, ...]:
        grown = (
            side + sum(self.layer.borders) - self.layer.kernel for side in self.input_shape[1:]
        )
        return self.layer.channels, *(extra // self.layer.stride + 1 for extra in grown)

    @property
    def _padding(self) -> int | None:
        """What the library pads, or None where we do."""
        before, after = self.layer.borders
        return before if before == after and self.layer.padding_mode == "zeros" else None

    def _padded(self, x: Tensor) -> Tensor:
        x = x.squeeze(0)
        x = x if self._padding is not None else pad(x, self.layer)
        return x.contiguous(memory_format=torch.channels_last)

    def _cropped(self, x: Tensor) -> Tensor:
        if self._padding is None:
            before, _ = self.layer.borders
            _, height, width = self.input_shape
            x = x[..., before : before + height, before : before + width]
        return x.unsqueeze(0)

    def _padded_size(self, examples: int, channels: int) -> tuple[int, int, int, int]:
        more = 0 if self._padding is not None else sum(self.layer.borders)
        height, width = (side + more for side in self.input_shape[1:])
        return examples, channels, height, width

    def forward(self, x: Inputs, w: Weights) -> Values:
        kernels = w.squeeze(0).contiguous(memory_format=torch.channels_last)
        z = F.conv2d(self._padded(x), kernels, None, self.layer.stride, self._padding or 0)
        return z.unsqueeze(0)

    def to_inputs(self, z: Values, w: Weights) -> Inputs:
        size = self._padded_size(z.shape[1], w.shape[2])
        kernels = w.squeeze(0).contiguous(memory_format=torch.channels_last)
        x = conv2d_input(size, kernels, z.squeeze(0), self.layer.stride, self._padding or 0)
        return self._cropped(x)

    def to_weights(self, z: Values, x: Inputs) -> Weights:
        shape = (z.shape[2], x.shape[2], *self.weight_shape[2:])
        stride, padding = self.layer.stride, self._padding or 0
        w = conv2d_weight(self._padded(x), shape, z.squeeze(0), stride, padding)
        return w.contiguous().unsqueeze(0)

    def per_example(self, z: Values) -> Biases:
        return z.sum((-2, -1))

    def spread(self, b: Biases) -> Values:
        return b[..., None, None]

    def rows(self, x: Inputs) -> Tensor:
        columns = F.unfold(
            self._padded(x), self.layer.kernel, padding=self._padding or 0, stride=self.layer.stride
        )
        return columns.mT.reshape(1, -1, columns.shape[1])

    def unrows(self, rows: Tensor, x: Inputs) -> Inputs:
        examples, channels = x.shape[1:3]
        columns = rows.reshape(examples, -1, rows.shape[2]).mT
        folded = F.fold(
            columns,
            self._padded_size(examples, channels)[2:],
            self.layer.kernel,
            padding=self._padding or 0,
            stride=self.layer.stride,
        )
        return self._cropped(folded)

    def output_rows(self, z: Values) -> Tensor:
        return z.squeeze(0).permute(0, 2, 3, 1).reshape(1, -1, z.shape[2])


def positions(map: LinearMap) -> int:
    """Return how many outputs of one example share a weight."""
    return prod(map.output_shape[1:])
