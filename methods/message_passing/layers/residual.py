"""The sum of two branches that share their inputs."""

from collections.abc import Sequence
from itertools import chain

from methods.message_passing.factors import residual
from methods.message_passing.gaussian import Gaussian
from methods.message_passing.layers.base import Layer, Visit


class Residual:
    """body(x) + shortcut(x); an empty branch is the identity.

    Both branches see the message from below as it is; what the other branch said last, which belief
    propagation would add, is left out.
    """

    def __init__(self, body: Sequence[Layer], shortcut: Sequence[Layer]) -> None:
        self.branches = (tuple(body), tuple(shortcut))

    def open(self, visit: Visit) -> None:
        """Begin a visit."""
        for layer in chain(*self.branches):
            layer.open(visit)

    def forward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the sum."""
        self._ends = []
        for branch in self.branches:
            end = message
            for layer in branch:
                end = layer.forward(end, visit)
            self._ends.append(end)
        return residual.forward(*self._ends)

    def backward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the product of the branches' messages to their inputs."""
        below = []
        for branch, end in zip(self.branches, residual.backward(*self._ends, message), strict=True):
            for layer in reversed(branch):
                end = layer.backward(end, visit)
            assert end is not None  # inputs of branches are random
            below.append(end)
        return below[0] * below[1]

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages to the sum."""
        ends = []
        for branch in self.branches:
            end = message
            for layer in branch:
                end = layer.predict(end)
            ends.append(end)
        return residual.forward(*ends)
