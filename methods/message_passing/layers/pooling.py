"""Means of squares or of whole channels, and maxima by moment matching."""

from bnnbench.methods.message_passing.factors import average_pool, clark_pool
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers.base import Visit


class AveragePool:
    """The mean of each square of side `size`, or of each channel (None): a weighted sum."""

    def __init__(self, size: int | None) -> None:
        self.size = size

    def open(self, visit: Visit) -> None:
        """Begin a visit; this layer stores no messages."""

    def forward(self, message: Gaussian, visit: Visit) -> tuple[Gaussian, Gaussian]:
        """Return the messages to the means; the residue is the message from below."""
        return self.predict(message), message

    def backward(self, residue: Gaussian, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs."""
        if self.size is None:
            message = message[..., None, None]
        return average_pool.backward(residue, message, self.size)

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages to the means."""
        means = average_pool.forward(message, self.size)
        return means if self.size is not None else means[..., 0, 0]  # a vector of channels


class ClarkMaxPool:
    """The maximum of each square of side `size`, with the moments of a maximum."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, visit: Visit) -> None:
        """Begin a visit; this layer stores no messages."""

    def forward(self, message: Gaussian, visit: Visit) -> tuple[Gaussian, Gaussian]:
        """Return the messages to the maxima; the residue is the message from below."""
        return self.predict(message), message

    def backward(self, residue: Gaussian, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the inputs; uniform in a border that no square covers."""
        return clark_pool.backward(residue, message, self.size)

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages to the maxima."""
        return clark_pool.forward(message, self.size)
