"""A layer's linear map, in its inputs and in its weights, and both adjoints.

A layer computes all its sums with these: matrix products in a dense layer, library convolutions in
a convolution (convolution.py). Tensors have a leading axis of members: networks side by side. A
stack, multiplied in one library call, has several times as many (stacks.py).
"""

from dataclasses import dataclass
from math import prod
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks.architectures import Conv2d, Linear
from bnnbench.methods.networks.torch_layers import affine

Values = Float[Tensor, "members examples *outputs"]
Inputs = Float[Tensor, "members examples *inputs"]
Weights = Float[Tensor, "members outputs *fan_in"]
Biases = Float[Tensor, "members examples outputs"]


@runtime_checkable
class LinearMap(Protocol):
    """z = Σ x w, linear in the inputs x and in the weights w."""

    @property
    def layer(self) -> Linear | Conv2d:
        """The layer that the map belongs to."""
        ...

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """`(outputs, inputs)`, or `(channels, input channels, kernel, kernel)`."""
        ...

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of one example's outputs."""
        ...

    def values_room(self, values: Tensor, count: int) -> Tensor:
        """Return an uninitialised buffer for `count` times the members of inputs or values."""
        ...

    def weights_room(self, weights: Tensor, count: int) -> Tensor:
        """Return an uninitialised buffer for `count` times the members of weights."""
        ...

    def separates_parts(self, values: Values) -> bool:
        """Return whether the parts of a stack are multiplied one by one."""
        ...

    def forward(self, x: Inputs, w: Weights) -> Values:
        """Return Σ x w for every output."""
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
        """Return one number per output, shaped to broadcast over positions."""
        ...

    def rows(self, x: Inputs) -> Float[Tensor, "members rows fan_in"]:
        """Return the inputs of every position as a row."""
        ...

    def weight_rows(self, w: Weights) -> Float[Tensor, "members outputs fan_in"]:
        """Return the weights of every output in the order of `rows`."""
        ...

    def from_rows(self, rows: Float[Tensor, "members outputs fan_in"]) -> Weights:
        """Return weights from the format of `weight_rows`: its inverse."""
        ...

    def sum_rows(self, rows: Float[Tensor, "members rows fan_in"], x: Inputs) -> Inputs:
        """Return the sum for each input over all rows that contain it: the adjoint of `rows`."""
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

    def values_room(self, values: Tensor, count: int) -> Tensor:
        return _room(values, count)

    def weights_room(self, weights: Tensor, count: int) -> Tensor:
        return _room(weights, count)

    def separates_parts(self, values: Values) -> bool:
        return False

    def forward(self, x: Inputs, w: Weights) -> Values:
        return torch.bmm(x, w.mT) if as_on_a_gpu(x) else affine(x, w)

    def to_inputs(self, z: Values, w: Weights) -> Inputs:
        return torch.bmm(z, w) if as_on_a_gpu(z) else affine(z, w.mT)

    def to_weights(self, z: Values, x: Inputs) -> Weights:
        if as_on_a_gpu(z):
            return torch.bmm(z.mT, x)
        if z.shape[1] % 4 or z.shape[2] % 4 or x.shape[2] == 1:
            return affine(z.mT, x.mT)
        return torch.bmm(z.mT, x)  # `affine` would compute a large product transposed, and copy it

    def per_example(self, z: Values) -> Biases:
        return z

    def spread(self, b: Biases) -> Values:
        return b

    def rows(self, x: Inputs) -> Tensor:
        return x

    def weight_rows(self, w: Weights) -> Tensor:
        return w

    def from_rows(self, rows: Tensor) -> Weights:
        return rows

    def sum_rows(self, rows: Tensor, x: Inputs) -> Inputs:
        return rows

    def output_rows(self, z: Values) -> Tensor:
        return z


def as_on_a_gpu(values: Tensor) -> bool:
    """Return whether a GPU's library makes the products; it needs no contiguous members.

    On a GPU, images of members are stored apart and convolved one by one.
    """
    return values.is_cuda


def _room(pattern: Tensor, count: int) -> Tensor:
    return pattern.new_empty(count * pattern.shape[0], *pattern.shape[1:])


def positions(map: LinearMap) -> int:
    """Return how many outputs of one example share a weight."""
    return prod(map.output_shape[1:])
