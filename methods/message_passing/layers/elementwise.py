"""Layers without weights in which each input enters one factor."""

from types import ModuleType
from typing import Any

import torch

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers.base import Slots, Visit


class Activation:
    """LeakyReLU; a slope of 0 is ReLU.

    The forward message is the output's moment-matched marginal divided by the last message from
    above; an example's first message in a visit has the moments of the output itself.
    Source: paper 000, appendix B.
    """

    def __init__(self, slope: float, kernels: ModuleType) -> None:
        self.slope, self.kernels = slope, kernels

    def open(self, visit: Visit) -> None:
        """Begin a visit without messages from above."""
        self.slots = Slots()

    def forward(self, message: Gaussian, visit: Visit) -> tuple[Gaussian, Gaussian]:
        """Return the messages to the outputs, and count the messages that a guard replaced.

        The residue is the message from below.
        """
        above = self.slots.message("above", visit)
        each = message.rho.numel() // max(1, len(message.rho))
        if self.kernels.FUSED:
            visit.sent += each
            counts = visit.counters_like(message.rho)[0]
            return self.kernels.counted_forward(message, above, self.slope, counts), message
        out, replaced = self.kernels.leaky_relu_forward(message, above, self.slope)
        visit.count(replaced, each)
        return out, message

    def backward(self, residue: Gaussian, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs, and store the messages from above."""
        self.slots.put_message("above", visit, message)
        if self.kernels.FUSED:
            counts = visit.counters_like(message.rho)[1]
            return self.kernels.counted_backward(residue, message, self.slope, counts)
        below, replaced = self.kernels.leaky_relu_backward(residue, message, self.slope)
        visit.count_floored(replaced)
        return below

    def predict(self, message: Gaussian) -> Gaussian:
        """Return messages with the moments of the outputs."""
        return self.kernels.leaky_relu_forward(message, None, self.slope)[0]


class MaxPool:
    """The maximum of each square, as a sum weighted by the probability to be the largest."""

    def __init__(self, size: int, kernels: ModuleType) -> None:
        self.size, self.kernels = size, kernels

    def open(self, visit: Visit) -> None:
        """Begin a visit; this layer stores no messages."""

    def forward(self, message: Gaussian, visit: Visit) -> tuple[Gaussian, Gaussian]:
        """Return the messages to the maxima; the residue is the message from below."""
        return self.predict(message), message

    def backward(self, residue: Gaussian, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs; uniform in a border that no square covers."""
        return self.kernels.max_pool_backward(residue, message, self.size)

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages to the maxima."""
        return self.kernels.max_pool_forward(message, self.size)


class Flatten:
    """An image as a vector; the channel varies slowest."""

    def open(self, visit: Visit) -> None:
        """Begin a visit; this layer stores no messages."""

    def forward(self, message: Any, visit: Visit) -> tuple[Any, torch.Size]:
        """Return the same messages, or observed inputs, as vectors; the residue is their shape."""
        return self.predict(message), message.shape

    def backward(self, residue: torch.Size, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the same messages as images."""
        image = Gaussian(message.tau.view(residue), message.rho.view(residue))
        if message.rho.shape[0] != 1:
            return image
        return Gaussian(*(_channels_last(part) for part in (image.tau, image.rho)))

    def predict(self, message: Any) -> Any:
        """Return the same messages, or observed inputs, as vectors."""
        if isinstance(message, Gaussian):
            return Gaussian(message.tau.flatten(2), message.rho.flatten(2))
        return message.flatten(2)


def _channels_last(images: torch.Tensor) -> torch.Tensor:
    return images.squeeze(0).contiguous(memory_format=torch.channels_last).unsqueeze(0)
