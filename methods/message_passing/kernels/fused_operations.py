"""The Python part of the fused kernels (fused.py), which exist only for GPUs."""

from math import prod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import (
    alike,
    contiguous,
    features_last,
    laid_as,
)
from bnnbench.methods.message_passing.kernels.operations import Operations
from bnnbench.methods.message_passing.kernels.unit_operations import Argument
from bnnbench.methods.message_passing.stacks import LaterWeightSums

Pair = tuple[Tensor | None, Tensor | None]
PARTS = 4
"""Number of parts into which an example's positions are split, if they are many."""
SPLIT_FROM = 256
"""Minimum number of positions that are split."""


class FusedOperations(Operations):
    """Every function of `fused`, each as one launch; the exchange of biases takes two."""

    FUSED = True
    FEW_ROWS = 0

    def coupled_begin(
        self,
        g: Tensor,
        h: Tensor,
        old: Tensor | None,
        by_weights: Tensor,
        by_inputs: Tensor | None,
        bias: Tensor | None,
        diagonal: Tensor,
        scale: Tensor,
        scaled: Tensor,
        u: Tensor,
    ) -> Tensor:
        """Fill the starting values of conjugate gradients; return the sums of `scaled`."""
        total, inputs = _sums_of_parts(g), (g, h, old, by_weights, by_inputs, bias)
        self._run_parts("coupled_begin_all", inputs, (diagonal, scale, scaled, u, total))
        return total

    def coupled_residual(
        self,
        moved: Tensor,
        total: Tensor,
        bias: Tensor | None,
        diagonal: Tensor,
        scale: Tensor,
        scaled: Tensor,
        residual: Tensor,
        direction: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Fill `residual`, `direction` and `scaled`; return sums of residual² and of `scaled`."""
        square, after = (_sums_of_parts(moved) for _ in range(2))
        outputs = (scaled, residual, direction, square, after)
        self._run_parts("coupled_residual_all", (moved, total, bias, diagonal, scale), outputs)
        return square, after

    def coupled_image(
        self,
        direction: Tensor,
        moved: Tensor,
        total: Tensor,
        bias: Tensor | None,
        diagonal: Tensor,
        scale: Tensor,
        image: Tensor,
    ) -> Tensor:
        """Fill `image`; return the sums of direction image."""
        curvature, inputs = (
            _sums_of_parts(direction),
            (direction, moved, total, bias, diagonal, scale),
        )
        self._run_parts("coupled_image_all", inputs, (image, curvature))
        return curvature

    def coupled_step(
        self,
        direction: Tensor,
        image: Tensor,
        square: Tensor,
        curvature: Tensor,
        u: Tensor,
        residual: Tensor,
    ) -> Tensor:
        """Move `u` and `residual` along the direction; return the sums of residual²."""
        after = _sums_of_parts(direction)
        inputs = (direction, image, square, curvature)
        self._run_parts("coupled_step_all", inputs, (u, residual, after))
        return after

    def coupled_turn(
        self,
        residual: Tensor,
        square: Tensor,
        before: Tensor,
        scale: Tensor,
        direction: Tensor,
        scaled: Tensor,
    ) -> Tensor:
        """Turn `direction`, and fill `scaled`; return its sums."""
        total = _sums_of_parts(residual)
        inputs = (residual, square, before, scale)
        self._run_parts("coupled_turn_all", inputs, (direction, scaled, total))
        return total

    def coupled_finish(
        self,
        g: Tensor,
        u: Tensor,
        old: Tensor | None,
        h: Tensor,
        stored: Tensor | None,
        damping: float,
    ) -> None:
        """Add √g u to `h`, and fill the values that the next round reads."""
        self._run("coupled_finish_all", (g, u, old), (h, stored), float(damping))

    def biased_outputs(
        self,
        mean: Tensor,
        by_weights: Tensor,
        by_inputs: Tensor | None,
        bias: Gaussian | None,
        old: Gaussian | None,
    ) -> Gaussian:
        """Return the messages with biases' moments added, without an example's own message."""
        out = _alike(features_last(mean))
        inputs = (mean, by_weights, by_inputs, *_shared(bias), *_pair(old))
        self._run("biased_outputs_all", inputs, (out.tau, out.rho))
        return out

    def exchange_bias(
        self,
        g: Tensor,
        h: Tensor,
        bias: Gaussian,
        old: Gaussian | None,
        old_sum: Gaussian | None,
        total: Gaussian | None,
        damping: float,
    ) -> tuple[Gaussian, Gaussian, Gaussian]:
        """Return the examples' messages to the biases, their product, and the new marginals."""
        messages = _alike(_sums(g))
        inputs = (g, h, *_shared(bias), *_pair(old))
        self._run("bias_kept_all", inputs, (messages.tau, messages.rho), float(damping))
        product, marginal = (_alike(torch.empty_like(bias.rho)) for _ in range(2))
        inputs = (messages.tau, messages.rho, *_shared(bias), *_shared(old_sum))
        outputs = (*_shared(total), *_shared(product), *_shared(marginal))
        self._run("bias_exchange_all", inputs, outputs)
        return messages, product, marginal

    def exchange_sums(
        self,
        marginal: Gaussian,
        total: Gaussian | None,
        mean: Tensor,
        sums: LaterWeightSums,
        old: Gaussian | None,
        stored: Gaussian | None,
        damping: float,
    ) -> None:
        """Exchange the message formed by sums over examples (maps/sums.py)."""
        filled = (*_pair(stored), *_pair(total), marginal.tau, marginal.rho)
        inputs = (mean, sums.force, sums.gain_of_square, sums.gain_of_variance, *_pair(old))
        given = laid_as(marginal.rho, inputs, filled)
        count, dtype = marginal.rho.numel(), marginal.rho.dtype
        self.call("exchange_sums_all", dtype, count, float(damping), *given, *filled)

    def counted_forward(
        self, z: Gaussian, a: Gaussian | None, slope: float, counts: Tensor
    ) -> Gaussian:
        """Return the messages to a = LeakyReLU(z), and add replacements to the counts."""
        if a is None:
            inputs, out = alike(z.tau, z.rho)
            arguments = (z.rho.numel(), float(slope), *inputs, out.tau, out.rho)
            self.call("leaky_relu_direct_all", z.rho.dtype, *arguments)
            return out
        return self._counted("leaky_relu_forward_all", z, a, slope, counts)

    def counted_backward(self, z: Gaussian, a: Gaussian, slope: float, counts: Tensor) -> Gaussian:
        """Return the messages to z, and add replacements by a guard to the counts."""
        return self._counted("leaky_relu_backward_all", z, a, slope, counts)

    def argmax_loss(self, z: Gaussian, labels: Tensor, noise_variance: float) -> Tensor:
        """Return the negative log probability of each label."""
        (labels,) = contiguous(z.rho, z.shape[:-1], labels, dtype=torch.int64)
        inputs = contiguous(z.tau, z.shape, z.tau, z.rho)
        loss = torch.empty_like(labels, dtype=z.rho.dtype)
        numbers = (labels.numel(), z.shape[-1], float(noise_variance))
        self.call("argmax_loss_all", z.rho.dtype, *numbers, *inputs, labels, loss)
        return loss

    def _run_parts(
        self,
        name: str,
        inputs: tuple[Tensor | None, ...],
        outputs: tuple[Tensor | None, ...],
    ) -> None:
        """Run a kernel whose sums over positions cover one part of an example each."""
        first = inputs[0]
        assert first is not None
        self._run(name, inputs, outputs, parts=parts_of(first))

    def _counted(
        self, name: str, z: Gaussian, a: Gaussian, slope: float, counts: Tensor
    ) -> Gaussian:
        inputs, out = alike(z.tau, z.rho, a.tau, a.rho)
        each = z.rho.numel() // max(1, z.shape[0])
        arguments: tuple[Argument, ...] = (z.shape[0], each, float(slope), *inputs)
        self.call(name, z.rho.dtype, *arguments, out.tau, out.rho, counts)
        return out


def parts_of(values: Tensor) -> int:
    """Return the number of parts into which the positions of an example are split.

    Parts are processed in parallel: many positions of few examples leave a GPU idle.
    """
    count = prod(values.shape[3:])
    return PARTS if count >= SPLIT_FROM and count % PARTS == 0 else 1


def _sums_of_parts(values: Tensor) -> Tensor:
    """Return a buffer for the sums over positions of every example's parts."""
    members, examples, features = values.shape[:3]
    return values.new_empty(members, examples * parts_of(values), features)


def _sums(values: Tensor) -> Tensor:
    """Return a buffer for the sums over positions of every example."""
    return values.new_empty(values.shape[:3])


def _alike(room: Tensor) -> Gaussian:
    return Gaussian(room, torch.empty_like(room))


def _pair(message: Gaussian | None) -> Pair:
    return (message.tau, message.rho) if message else (None, None)


def _shared(message: Gaussian | None) -> Pair:
    """Return features' natural parameters, shared by all examples."""
    return (message.tau[:, None], message.rho[:, None]) if message else (None, None)
