"""The sum of two branches that share their inputs."""

from collections.abc import Sequence

from bnnbench.methods.message_passing.factors import residual
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers.base import Layer, Visit


class Residual:
    """body(x) + shortcut(x); an empty branch is the identity.

    Both branches see the message from below as it is; what the other branch said last, which belief
    propagation would add, is left out.
    """

    def __init__(self, body: Sequence[Layer], shortcut: Sequence[Layer]) -> None:
        self.body, self.shortcut = tuple(body), tuple(shortcut)

    def open(self, visit: Visit) -> None:
        """Begin a visit."""
        for layer in (*self.body, *self.shortcut):
            layer.open(visit)

    def forward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the sum."""
        body, shortcut = message, message
        for layer in self.body:
            body = layer.forward(body, visit)
        for layer in self.shortcut:
            shortcut = layer.forward(shortcut, visit)
        self._ends = (body, shortcut)
        return residual.forward(body, shortcut)

    def backward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the product of the branches' messages to their inputs."""
        body, shortcut = residual.backward(*self._ends, message)
        for layer in reversed(self.body):
            body = layer.backward(body, visit)
        for layer in reversed(self.shortcut):
            shortcut = layer.backward(shortcut, visit)
        assert body is not None  # inputs of branches are random
        assert shortcut is not None
        return body * shortcut

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages to the sum."""
        body, shortcut = message, message
        for layer in self.body:
            body = layer.predict(body)
        for layer in self.shortcut:
            shortcut = layer.predict(shortcut)
        return residual.forward(body, shortcut)
