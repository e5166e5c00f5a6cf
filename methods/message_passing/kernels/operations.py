"""The Python part of the kernels, the same in main memory and on a device.

It checks tensors and their layouts, allocates results, and passes addresses on.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import Images, alike, contiguous
from bnnbench.methods.message_passing.kernels.unit_operations import UnitOperations
from bnnbench.methods.message_passing.kernels.weight_operations import WeightOperations

Rows = Float[Tensor, "members rows inputs"]
Weights = Float[Tensor, "members outputs inputs"]
Units = Float[Tensor, "members rows outputs"]


class Operations(UnitOperations, WeightOperations):
    """Every kernel of `reference`, in compiled code that `call` finds by name."""

    def leaky_relu_forward(
        self, z: Gaussian, a: Gaussian | None, slope: float
    ) -> tuple[Gaussian, Int[Tensor, " members"]]:
        """Return the messages to a = LeakyReLU(z), and each member's number of replacements."""
        if a is not None:
            return self._activation("leaky_relu_forward_all", z, a, slope)
        inputs, out = alike(z.tau, z.rho)
        count = z.rho.numel()
        arguments = (count, float(slope), *inputs, out.tau, out.rho)
        self.call("leaky_relu_direct_all", z.rho.dtype, *arguments)
        return out, _zeros(z.shape[0], z.rho)

    def leaky_relu_backward(
        self, z: Gaussian, a: Gaussian, slope: float
    ) -> tuple[Gaussian, Int[Tensor, " members"]]:
        """Return the messages to z, and each member's number of replacements by a guard."""
        return self._activation("leaky_relu_backward_all", z, a, slope)

    def max_pool_forward(self, z: Gaussian, size: int) -> Gaussian:
        """Return the message to each window of size x size; a ragged border is dropped."""
        images = Images.of(z, size)
        out = images.to_windows()
        self._pool("max_pool_forward_all", images, *images.inputs, out.tau, out.rho)
        return images.shaped(out)

    def max_pool_backward(self, z: Gaussian, back: Gaussian, size: int) -> Gaussian:
        """Return the message to each input: uniform in the border that pooling dropped."""
        images = Images.of(z, size)
        out = images.to_inputs()
        windows = images.windows(back)
        self._pool("max_pool_backward_all", images, *images.inputs, *windows, out.tau, out.rho)
        return images.shaped(out)

    def argmax_backward(
        self,
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
        tensors = (*inputs, labels, out.tau, out.rho)
        if self.call("argmax_backward_all", z.rho.dtype, *numbers, *tensors):
            raise ValueError(f"needed labels from 0 to {z.shape[-1] - 1}; got {labels.unique()}")
        return out

    def exact_weight_sums(
        self,
        input_mean: Rows,
        input_variance: Rows | None,
        weight_mean: Weights,
        weight_variance: Weights,
        g: Units,
        h: Units,
    ) -> Gaussian:
        """Return the product of all rows' messages to each weight; None: observed inputs."""
        rows, weights, units = (input_mean, input_variance), (weight_mean, weight_variance), (g, h)
        return self._sums("exact_weight_sums_all", rows, weights, units, _empty(weight_mean))

    def exact_input_sums(
        self,
        input_mean: Rows,
        input_variance: Rows,
        weight_mean: Weights,
        weight_variance: Weights,
        g: Units,
        h: Units,
    ) -> Gaussian:
        """Return the product of all outputs' messages to each input of a later layer."""
        rows, weights, units = (input_mean, input_variance), (weight_mean, weight_variance), (g, h)
        return self._sums("exact_input_sums_all", rows, weights, units, _empty(input_mean))

    def exact_first_forward(
        self, x: Rows, weight_mean: Weights, weight_variance: Weights, g: Units, h: Units
    ) -> tuple[Units, Units]:
        """Return the weights' part of a first layer's mean and variance, under cavities."""
        weights = (weight_mean, weight_variance)
        sums = self._sums("exact_first_forward_all", (x,), weights, (g, h), _empty(g))
        return sums.tau, sums.rho

    def exact_first_weight_sums(
        self,
        x: Rows,
        weight_mean: Weights,
        weight_variance: Weights,
        g_old: Units,
        h_old: Units,
        g: Units,
        h: Units,
    ) -> Gaussian:
        """Return the product of all rows' messages to each weight of a first layer."""
        weights, units = (weight_mean, weight_variance), (g_old, h_old, g, h)
        return self._sums("exact_first_weight_sums_all", (x,), weights, units, _empty(weight_mean))

    def _activation(
        self, name: str, z: Gaussian, a: Gaussian, slope: float
    ) -> tuple[Gaussian, Int[Tensor, " members"]]:
        inputs, out = alike(z.tau, z.rho, a.tau, a.rho)
        members = z.shape[0]
        counts = _zeros(members, z.rho)
        each = z.rho.numel() // max(1, members)
        arguments = (members, each, float(slope), *inputs, out.tau, out.rho, counts)
        self.call(name, z.rho.dtype, *arguments)
        return out, counts

    def _pool(self, name: str, images: Images, *tensors: Tensor) -> None:
        if self.call(name, tensors[0].dtype, images.count, images.layout, *tensors):
            raise MemoryError("no memory for the offsets of an image's windows")

    def _sums(
        self,
        name: str,
        rows: tuple[Tensor, *tuple[Tensor | None, ...]],
        weights: tuple[Tensor, Tensor],
        units: tuple[Tensor, ...],
        out: Gaussian,
    ) -> Gaussian:
        (members, outputs, inputs), count = weights[0].shape, rows[0].shape[1]
        known = [t for t in rows if t is not None]
        given = contiguous(rows[0], (members, count, inputs), *known)
        self.call(
            name,
            out.rho.dtype,
            (members, count, inputs, outputs),
            *(None if t is None else given.pop(0) for t in rows),
            *contiguous(rows[0], (members, outputs, inputs), *weights),
            *contiguous(rows[0], (members, count, outputs), *units),
            *(out.tau, out.rho),
        )
        return out


def _zeros(count: int, pattern: Tensor) -> Int[Tensor, " count"]:
    return torch.zeros(count, dtype=torch.int64, device=pattern.device)


def _empty(pattern: Tensor) -> Gaussian:
    def empty() -> Tensor:
        return torch.empty_like(pattern, memory_format=torch.contiguous_format)

    return Gaussian(empty(), empty())
