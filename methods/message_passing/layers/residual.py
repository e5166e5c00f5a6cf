"""The sum of two branches that share their inputs."""

from collections.abc import Sequence

from methods.message_passing.factors import residual
from methods.message_passing.gaussian import Gaussian
from methods.message_passing.layers.base import Layer, Slots, Visit


class Residual:
    """body(x) + shortcut(x); each branch sees its inputs with the other's last message.

    An empty branch is the identity.
    """

    def __init__(self, body: Sequence[Layer], shortcut: Sequence[Layer]) -> None:
        self.branches = {"body": tuple(body), "shortcut": tuple(shortcut)}

    def open(self, visit: Visit) -> None:
        """Begin a visit: no branch has sent a message."""
        self.slots = Slots()
        for branch in self.branches.values():
            for layer in branch:
                layer.open(visit)

    def forward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the messages to the sum."""
        ends = {}
        for name, branch in self.branches.items():
            other = self.slots.message(_other(name), visit)
            end = message * other if other else message
            for layer in branch:
                end = layer.forward(end, visit)
            ends[name] = end
        self._ends = (ends["body"], ends["shortcut"])
        return residual.forward(*self._ends)

    def backward(self, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the product of the branches' messages to their inputs."""
        sent = residual.backward(message, *self._ends)
        below = []
        for (name, branch), end in zip(self.branches.items(), sent, strict=True):
            for layer in reversed(branch):
                end = layer.backward(end, visit)  # type: ignore[assignment]
            self.slots.put_message(name, visit, end)
            below.append(end)
        return below[0] * below[1]

    def predict(self, message: Gaussian) -> Gaussian:
        """Return the messages to the sum."""
        ends = []
        for branch in self.branches.values():
            end = message
            for layer in branch:
                end = layer.predict(end)
            ends.append(end)
        return residual.forward(*ends)


def _other(name: str) -> str:
    return "shortcut" if name == "body" else "body"
