"""The Python part of the kernels on units (units.py), the same on every device."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import by_rows, features_last
from bnnbench.methods.message_passing.stacks import InputSums

Argument = Tensor | tuple[int, ...] | int | float | None


class UnitOperations(ABC):
    """Every function of `units`, in compiled code that `call` finds by name."""

    @abstractmethod
    def call(self, name: str, dtype: torch.dtype, *arguments: Argument) -> int:
        """Run compiled code for messages of a type and return its status; 0 is success."""

    def fill_moments(
        self,
        message: Gaussian,
        sent: Gaussian | None,
        mean: Tensor,
        square: Tensor,
        variance: Tensor,
    ) -> None:
        """Fill mean, squared mean, and variance of the product of messages."""
        others = (sent.tau, sent.rho) if sent else (None, None)
        self._run("fill_moments_all", (message.tau, message.rho, *others), (mean, square, variance))

    def output_messages(
        self,
        mean: Tensor,
        by_weights: Tensor,
        by_inputs: Tensor | None,
        bias_mean: Tensor,
        bias_variance: Tensor,
    ) -> Gaussian:
        """Return the messages with these means and variances and the biases' moments added."""
        out = _alike(features_last(mean))
        inputs = (mean, by_weights, by_inputs, bias_mean, bias_variance)
        self._run("output_messages_all", inputs, (out.tau, out.rho))
        return out

    def fill_pulls(
        self, z: Gaussian, back: Gaussian, h: Tensor, g: Tensor, again: Tensor | None
    ) -> None:
        """Fill forces h and gains g of backward messages, and `again` with a copy of the gains."""
        self._run("fill_pulls_all", (z.tau, z.rho, back.tau, back.rho), (again, h, g))

    def fill_pulls_without_own(
        self,
        z: Gaussian,
        back: Gaussian,
        by_weights: Tensor,
        by_inputs: Tensor,
        old: Tensor,
        h: Tensor,
        g: Tensor,
        again: Tensor | None,
    ) -> None:
        """Fill forces and gains, with each example's last force removed from its mean."""
        inputs = (z.tau, z.rho, back.tau, back.rho, by_weights, by_inputs, old)
        self._run("fill_pulls_without_own_all", inputs, (again, h, g))

    def input_messages(self, mean: Tensor, sums: InputSums) -> Gaussian:
        """Return the messages to inputs with these means, floored."""
        out = _alike(features_last(mean))
        inputs = (mean, sums.force, sums.gain_of_variance, sums.precision)
        self._run("input_messages_all", inputs, (out.tau, out.rho))
        return out

    def bias_messages(self, g: Tensor, h: Tensor, mean: Tensor, variance: Tensor) -> Gaussian:
        """Return the messages of examples to biases with these cavities."""
        out = _alike(_per_example(g))
        self._run("bias_messages_all", (g, h, mean, variance), (out.tau, out.rho))
        return out

    def begin(
        self,
        g: Tensor,
        h: Tensor,
        old: Tensor | None,
        by_weights: Tensor,
        by_inputs: Tensor | None,
        bias_variance: Tensor,
        diagonal: Tensor,
        scale: Tensor,
        scaled: Tensor,
    ) -> Tensor:
        """Fill the starting values of conjugate gradients; return the sums of `scaled`."""
        total, inputs = _per_example(g), (g, h, old, by_weights, by_inputs, bias_variance)
        self._run("begin_all", inputs, (diagonal, scale, scaled, total))
        return total

    def fill_residual(
        self,
        moved: Tensor,
        shift: Tensor,
        diagonal: Tensor,
        scale: Tensor,
        scaled: Tensor,
        residual: Tensor,
        direction: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Fill `residual`, `direction` and `scaled`; return the sums of residual² and `scaled`."""
        square, total = _per_example(moved), _per_example(moved)
        outputs = (scaled, residual, direction, square, total)
        self._run("fill_residual_all", (moved, shift, diagonal, scale), outputs)
        return square, total

    def fill_image(
        self,
        direction: Tensor,
        moved: Tensor,
        shift: Tensor,
        diagonal: Tensor,
        scale: Tensor,
        image: Tensor,
    ) -> Tensor:
        """Fill `image`; return the sums of direction image."""
        total, inputs = _per_example(direction), (direction, moved, shift, diagonal, scale)
        self._run("fill_image_all", inputs, (image, total))
        return total

    def step(
        self, length: Tensor, direction: Tensor, image: Tensor, u: Tensor, residual: Tensor
    ) -> Tensor:
        """Move `u` and `residual` by length; return the sums of residual²."""
        total = _per_example(residual)
        self._run("step_all", (direction, length, image), (u, residual, total))
        return total

    def turn(
        self, residual: Tensor, ratio: Tensor, scale: Tensor, direction: Tensor, scaled: Tensor
    ) -> Tensor:
        """Set `direction` to residual + ratio direction; return the sums of `scaled`."""
        total = _per_example(residual)
        self._run("turn_all", (residual, ratio, scale), (direction, scaled, total))
        return total

    def finish(self, g: Tensor, u: Tensor, h: Tensor) -> None:
        """Add √g u to `h`."""
        self._run("finish_all", (g, u), (h,))

    def _run(
        self,
        name: str,
        inputs: tuple[Tensor | None, ...],
        outputs: tuple[Tensor | None, ...],
        *numbers: float,
        parts: int = 1,
    ) -> None:
        first = inputs[0]
        assert first is not None
        sizes, tensors = by_rows(first, inputs, outputs, parts)
        self.call(name, first.dtype, sizes, *numbers, *tensors)


def _alike(room: Tensor) -> Gaussian:
    return Gaussian(room, torch.empty_like(room))


def _per_example(values: Tensor) -> Tensor:
    return values.new_empty(values.shape[:3])
