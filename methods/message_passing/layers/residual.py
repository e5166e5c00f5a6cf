"""The sum of two branches that share their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bnnbench.methods.message_passing.factors import residual
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers import base
from bnnbench.methods.message_passing.layers.base import Layer, Visit


@dataclass(frozen=True)
class BranchResidues:
    """The messages at the ends of both branches, and the residues of their layers."""

    body_end: Gaussian
    shortcut_end: Gaussian
    body: list[Any]
    shortcut: list[Any]


class Residual:
    """body(x) + shortcut(x); an empty branch is the identity.

    Both branches get the message from below unchanged. Belief propagation would multiply it by the
    other branch's last message, which is omitted here.
    """

    def __init__(self, body: Sequence[Layer], shortcut: Sequence[Layer]) -> None:
        self.body, self.shortcut = tuple(body), tuple(shortcut)

    def open(self, visit: Visit) -> None:
        """Begin a visit."""
        for layer in (*self.body, *self.shortcut):
            layer.open(visit)

    def forward(self, message: Gaussian, visit: Visit) -> tuple[Gaussian, BranchResidues]:
        """Return the messages to the sum."""
        body, body_residues = base.forward(self.body, message, visit)
        shortcut, shortcut_residues = base.forward(self.shortcut, message, visit)
        residue = BranchResidues(body, shortcut, body_residues, shortcut_residues)
        return residual.forward(body, shortcut), residue

    def backward(self, residue: BranchResidues, message: Gaussian, visit: Visit) -> Gaussian:
        """Return the product of the branches' messages to their inputs."""
        body, shortcut = residual.backward(residue.body_end, residue.shortcut_end, message)
        body = base.backward(self.body, residue.body, body, visit)
        shortcut = base.backward(self.shortcut, residue.shortcut, shortcut, visit)
        assert body is not None  # branches always have random inputs
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
