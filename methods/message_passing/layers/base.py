"""The layers of the factor graph, passes through them, and the state of a visit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.schedule import Schedule


@dataclass
class Visit:
    """One visit of a batch: the order of its examples, and the counts of its messages."""

    schedule: Schedule
    members: int
    examples: int
    iterations: int | None = None
    """The number of iterations in the visit; None if unknown."""
    iteration: int = 0
    group: int = 0
    sent: int = 0
    """Forward messages of activations of each member, in this iteration."""
    counters: Int[Tensor, "2 members"] | None = None
    """Replaced messages of this iteration, forward and backward, if kernels count them."""
    _replaced: list[Tensor] = field(default_factory=list)
    _floored: list[Tensor] = field(default_factory=list)

    @property
    def groups(self) -> int:
        """The number of groups in the batch."""
        return -(-self.examples // self.schedule.size)

    @property
    def rows(self) -> slice:
        """The examples of the group."""
        start = self.group * self.schedule.size
        return slice(start, min(start + self.schedule.size, self.examples))

    @property
    def is_first(self) -> bool:
        """True if no example has sent a message in this visit."""
        return self.iteration == 0

    @property
    def is_last(self) -> bool:
        """True if no later iteration will read the stored values of this one."""
        return self.iteration + 1 == self.iterations

    @property
    def damping(self) -> float:
        """The step from the old messages to the new."""
        return 1.0 if self.is_first else self.schedule.damping

    def start(self, iteration: int) -> None:
        """Begin an iteration and reset its counts."""
        self.iteration, self.sent = iteration, 0
        self._replaced, self._floored = [], []
        self.counters = None

    def counters_like(self, values: Tensor) -> Int[Tensor, "2 members"]:
        """Return the counters on the device of the values; 0 in the iteration's first call."""
        if self.counters is None:
            shape = 2, self.members
            self.counters = torch.zeros(shape, dtype=torch.int64, device=values.device)
        return self.counters

    def count(self, replaced: Int[Tensor, " members"], sent: int) -> None:
        """Count forward messages, and those that a guard replaced."""
        self._replaced.append(replaced)
        self.sent += sent

    def count_floored(self, floored: Int[Tensor, " members"]) -> None:
        """Count backward messages that a guard replaced."""
        self._floored.append(floored)

    @property
    def replaced(self) -> Int[Tensor, " members"] | None:
        """Forward messages of activations that a guard replaced, in this iteration."""
        return _sum(self._replaced) if self.counters is None else self.counters[0]

    @property
    def floored(self) -> Int[Tensor, " members"] | None:
        """Backward messages of activations that a guard replaced, in this iteration."""
        return _sum(self._floored) if self.counters is None else self.counters[1]


def _sum(counts: list[Tensor]) -> Tensor | None:
    return torch.stack(counts).sum(0) if counts else None


@runtime_checkable
class Layer(Protocol):
    """A layer with the stored messages of one visit; `open` discards the previous visit's.

    The message from below is a `Gaussian`, or the inputs themselves if they are observed.
    """

    def open(self, visit: Visit) -> None:
        """Begin a visit: no messages have been sent."""
        ...

    def forward(self, message: Any, visit: Visit) -> tuple[Any, Any]:
        """Return the message of the visit's group to the layer above, and a residue.

        The residue holds the values of this call that `backward` needs; each layer has its own
        type.
        """
        ...

    def backward(self, residue: Any, message: Any, visit: Visit) -> Gaussian | None:
        """Return the message to the layer below, given the message from above.

        The residue comes from the `forward` of the same group in the same iteration.
        """
        ...

    def predict(self, message: Any) -> Any:
        """Return the message of new examples to the layer above; needs no visit."""
        ...


def forward(layers: Sequence[Layer], message: Any, visit: Visit) -> tuple[Any, list[Any]]:
    """Return the message after the last layer, and the residue of every layer."""
    residues = []
    for layer in layers:
        message, residue = layer.forward(message, visit)
        residues.append(residue)
    return message, residues


def backward(
    layers: Sequence[Layer], residues: list[Any], message: Gaussian, visit: Visit
) -> Gaussian | None:
    """Return the message below the first layer; None if it observes its inputs.

    Empties `residues`, so that each is freed once its layer has used it.
    """
    below: Gaussian | None = message
    for layer in reversed(layers):
        residue = residues.pop()
        if below is not None:
            below = layer.backward(residue, below, visit)
    return below


@dataclass
class Slots:
    """Values stored for the examples of a visit, group by group, between iterations."""

    values: dict[tuple[str, int], Tensor] = field(default_factory=dict)

    def get(self, name: str, visit: Visit) -> Tensor | None:
        """Return the values of the group's examples; None in the first iteration."""
        return None if visit.is_first else self.previous(name, visit)

    def previous(self, name: str, visit: Visit) -> Tensor:
        """Return the values of the group's examples that the previous iteration stored."""
        return self.values[name, visit.group]

    def put(self, name: str, visit: Visit, value: Tensor) -> None:
        """Store the values of the group's examples, if another iteration will read them."""
        if not visit.is_last:
            self.values[name, visit.group] = value

    def message(self, name: str, visit: Visit) -> Gaussian | None:
        """Return the stored message of the group's examples; None in the first iteration."""
        if visit.is_first:
            return None
        return Gaussian(*(self.previous(f"{name} {part}", visit) for part in ("tau", "rho")))

    def put_message(self, name: str, visit: Visit, message: Gaussian) -> None:
        """Store the message of the group's examples, if another iteration will read it."""
        self.put(f"{name} tau", visit, message.tau)
        self.put(f"{name} rho", visit, message.rho)
