"""The map of a convolution, by library convolutions.

Members, or the tensors that a sum stacks, are groups of its channels: they lie side by side in
every pixel, channels last, and one call makes all products.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bnnbench.methods.message_passing.maps import base
from bnnbench.methods.message_passing.maps.base import Biases, Inputs, Values, Weights
from bnnbench.methods.networks.architectures import Conv2d
from bnnbench.methods.networks.torch_layers import is_strided_pointwise, pad, strided

FEW_CHANNELS = 4
"""Maximum number of input channels for which a GPU multiplies rows instead of using the library's
gradient of weights, which is slow there. Measured with three channels on an H100."""


@dataclass(frozen=True)
class Convolution:
    """The map of a convolution; images are padded first if borders are unequal or mirrored."""

    layer: Conv2d
    input_shape: tuple[int, ...]
    """Channels, height and width."""

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
        """The border that the library pads; None if images are padded first."""
        before, after = self.layer.borders
        return before if before == after and self.layer.padding_mode == "zeros" else None

    def values_room(self, values: Tensor, count: int) -> Tensor:
        members, examples, channels, height, width = values.shape
        if base.as_on_a_gpu(values):
            room = values.new_empty(count * members, examples, height, width, channels)
            return room.movedim(-1, 2)
        room = values.new_empty(examples, height, width, count * members, channels)
        return room.permute(3, 0, 4, 1, 2)

    def weights_room(self, weights: Tensor, count: int) -> Tensor:
        members, outputs, channels, height, width = weights.shape
        room = weights.new_empty(count * members, outputs, height, width, channels)
        return room.movedim(-1, 2)

    def _padded(self, x: Tensor) -> Tensor:
        x = _as_groups(x)
        return x if self._padding is not None else _last(pad(x, self.layer))

    def _cropped(self, x: Tensor, members: int) -> Tensor:
        if self._padding is None:
            before, _ = self.layer.borders
            _, height, width = self.input_shape
            x = x[..., before : before + height, before : before + width]
        return _as_members(x, members)

    def _padded_size(self, examples: int, channels: int) -> tuple[int, int, int, int]:
        more = 0 if self._padding is not None else sum(self.layer.borders)
        height, width = (side + more for side in self.input_shape[1:])
        return examples, channels, height, width

    def _gradient(self, z: Values, x: Tensor, w: Tensor, of_weights: bool) -> Tensor:
        """Return the library's gradient of the weights, or of the inputs."""
        stride, padding = self.layer.stride, self._padding or 0
        if of_weights and is_strided_pointwise(self.layer):
            pixels = strided(F.pad(x, [padding] * 4), stride)
            x, stride, padding = _room(tuple(pixels.shape), x).copy_(pixels), 1, 0
        gradients = torch.ops.aten.convolution_backward.default(
            _as_groups(z),
            x,
            w,
            None,
            [stride] * 2,
            [padding] * 2,
            [1, 1],  # dilation
            False,  # not transposed
            [0, 0],
            z.shape[0],
            [not of_weights, of_weights, False],
        )
        return gradients[of_weights]

    def separates_parts(self, values: Values) -> bool:
        return base.as_on_a_gpu(values)

    def forward(self, x: Inputs, w: Weights) -> Values:
        if base.as_on_a_gpu(x) and x.shape[0] > 1:
            return one_by_one(self.forward, x, w)
        stride, padding = self.layer.stride, self._padding or 0
        z = F.conv2d(self._padded(x), w.flatten(0, 1), None, stride, padding, groups=w.shape[0])
        return _as_members(z, w.shape[0])

    def to_inputs(self, z: Values, w: Weights) -> Inputs:
        if base.as_on_a_gpu(z) and z.shape[0] > 1:
            return one_by_one(self.to_inputs, z, w)
        members, _, channels = w.shape[:3]
        x = _room(self._padded_size(z.shape[1], members * channels), z)
        return self._cropped(self._gradient(z, x, w.flatten(0, 1), False), members)

    def to_weights(self, z: Values, x: Inputs) -> Weights:
        if base.as_on_a_gpu(z) and z.shape[0] > 1:
            return one_by_one(self.to_weights, z, x)
        members, outputs, channels = z.shape[0], z.shape[2], x.shape[2]
        if base.as_on_a_gpu(z) and channels <= FEW_CHANNELS:
            return self.from_rows(self.output_rows(z).mT @ self.rows(x))
        w = _room((members * outputs, channels, *self.weight_shape[2:]), z)
        gradient = self._gradient(z, self._padded(x), w, True)
        return gradient.view(members, outputs, *gradient.shape[1:])

    def per_example(self, z: Values) -> Biases:
        return z.sum((-2, -1))

    def spread(self, b: Biases) -> Values:
        return b[..., None, None]

    def rows(self, x: Inputs) -> Tensor:
        images, (kernel, stride) = self._padded(x), (self.layer.kernel, self.layer.stride)
        if self._padding:
            images = F.pad(images, [self._padding] * 4)
        windows = images.permute(0, 2, 3, 1).unfold(1, kernel, stride).unfold(2, kernel, stride)
        return windows.movedim(3, -1).reshape(1, -1, kernel**2 * images.shape[1])

    def weight_rows(self, w: Weights) -> Tensor:
        return w.movedim(2, -1).flatten(2)

    def from_rows(self, rows: Tensor) -> Weights:
        _, channels, height, width = self.weight_shape
        return rows.view(*rows.shape[:2], height, width, channels).movedim(-1, 2)

    def sum_rows(self, rows: Tensor, x: Inputs) -> Inputs:
        examples, channels = x.shape[1:3]
        columns = rows.reshape(examples, -1, self.layer.kernel**2, channels).permute(0, 3, 2, 1)
        folded = F.fold(
            columns.flatten(1, 2),
            self._padded_size(examples, channels)[2:],
            self.layer.kernel,
            padding=self._padding or 0,
            stride=self.layer.stride,
        )
        return self._cropped(folded, 1)

    def output_rows(self, z: Values) -> Tensor:
        return z.squeeze(0).permute(0, 2, 3, 1).reshape(1, -1, z.shape[2])


def one_by_one(product: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    """Return the product of each member separately, channels last, as a GPU's library needs."""
    parts = [product(*pair) for pair in zip(a.split(1), b.split(1), strict=True)]
    return torch.cat([part.movedim(2, -1) for part in parts]).movedim(-1, 2)


def _as_groups(x: Tensor) -> Tensor:
    """Return images with the channels of all members.

    The strides are channels-last even for a single image, for which any stride would do:
    the library's gradient of weights in float64, and of 1 x 1 kernels, is wrong for others.
    """
    members, examples, channels, *sides = x.shape
    if members > 1 and x.stride(0) != channels * x.stride(2):
        return _last(x.transpose(0, 1).flatten(1, 2))
    return _last(x.as_strided((examples, members * channels, *sides), x.stride()[1:]))


def _as_members(x: Tensor, members: int) -> Tensor:
    examples, channels, *sides = x.shape
    shape = (members, examples, channels // members, *sides)
    return x.as_strided(shape, (channels // members * x.stride(1), *x.stride()))


def _room(shape: tuple[int, ...], values: Tensor) -> Tensor:
    """Return a tensor of which the library reads only shape and layout."""
    return torch.empty(
        shape, dtype=values.dtype, device=values.device, memory_format=torch.channels_last
    )


def _last(images: Tensor) -> Tensor:
    return images.contiguous(memory_format=torch.channels_last)
