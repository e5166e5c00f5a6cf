"""What every layer of the factor graph does, and what a pass through it knows."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.schedule import Schedule


@dataclass
class Visit:
    """One visit of a batch: how its examples are taken, and what was counted."""

    schedule: Schedule
    members: int
    examples: int
    iterations: int | None = None
    """How many there will be; None where that is not known."""
    iteration: int = 0
    group: int = 0
    sent: int = 0
    """Forward messages of activations of each member, in this iteration."""
    _replaced: list[Tensor] = field(default_factory=list)
    _floored: list[Tensor] = field(default_factory=list)

    @property
    def groups(self) -> int:
        """How many groups the batch has."""
        return -(-self.examples // self.schedule.size)

    @property
    def rows(self) -> slice:
        """The examples of the group."""
        start = self.group * self.schedule.size
        return slice(start, min(start + self.schedule.size, self.examples))

    @property
    def is_first(self) -> bool:
        """Whether no example has sent a message in this visit."""
        return self.iteration == 0

    @property
    def is_last(self) -> bool:
        """Whether nobody will read what this iteration keeps."""
        return self.iteration + 1 == self.iterations

    @property
    def damping(self) -> float:
        """The step from the old messages to the new."""
        return 1.0 if self.is_first else self.schedule.damping

    def start(self, iteration: int) -> None:
        """Begin an iteration, in which nothing has been counted."""
        self.iteration, self.sent = iteration, 0
        self._replaced, self._floored = [], []

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
        return _sum(self._replaced)

    @property
    def floored(self) -> Int[Tensor, " members"] | None:
        """Backward messages of activations that a guard replaced, in this iteration."""
        return _sum(self._floored)


def _sum(counts: list[Tensor]) -> Tensor | None:
    return torch.stack(counts).sum(0) if counts else None


@runtime_checkable
class Layer(Protocol):
    """A layer with the state of one visit; `open` discards that of the last.

    What comes from below is a `Gaussian`, or the inputs themselves where they are observed.
    """

    def open(self, visit: Visit) -> None:
        """Begin a visit: no messages have been sent."""
        ...

    def forward(self, message: Any, visit: Visit) -> Any:
        """Return the message of the visit's group to the layer above."""
        ...

    def backward(self, message: Any, visit: Visit) -> Gaussian | None:
        """Return the message to the layer below, given the one from above.

        Uses what the preceding `forward` of the same group left.
        """
        ...

    def predict(self, message: Any) -> Any:
        """Return the message of new examples to the layer above; needs no visit."""
        ...


@dataclass
class Slots:
    """What is kept of a visit's examples, group by group, from one iteration to the next."""

    values: dict[tuple[str, int], Tensor] = field(default_factory=dict)

    def get(self, name: str, visit: Visit) -> Tensor | None:
        """Return what the group's examples kept; None in the first iteration."""
        return None if visit.is_first else self.kept(name, visit)

    def kept(self, name: str, visit: Visit) -> Tensor:
        """Return what the group's examples kept in the last iteration."""
        return self.values[name, visit.group]

    def put(self, name: str, visit: Visit, value: Tensor) -> None:
        """Keep the values of the group's examples, if there is another iteration to read them."""
        if not visit.is_last:
            self.values[name, visit.group] = value

    def message(self, name: str, visit: Visit) -> Gaussian | None:
        """Return the message that the group's examples kept; None in the first iteration."""
        if visit.is_first:
            return None
        return Gaussian(*(self.kept(f"{name} {part}", visit) for part in ("tau", "rho")))

    def put_message(self, name: str, visit: Visit, message: Gaussian) -> None:
        """Keep the message of the group's examples, if there is another iteration to read it."""
        self.put(f"{name} tau", visit, message.tau)
        self.put(f"{name} rho", visit, message.rho)
