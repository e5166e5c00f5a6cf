"""The order in which the examples of a batch send their messages, and how many at a time."""

from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar

from bnnbench.methods.fitting.settings import require_between, require_count


@dataclass(frozen=True)
class Sequential:
    """One example after another, each with all marginals up to date: the published schedule."""

    size: ClassVar[int] = 1
    damping: ClassVar[float] = 1.0
    solver_iterations: ClassVar[int] = 0
    without_own_force: ClassVar[bool] = False
    joint_precisions: ClassVar[bool] = False


@dataclass(frozen=True)
class GroupSequential:
    """Groups of `size` examples, each with the marginals at the start of its group.

    All examples of a group correct the same residual, so that large groups diverge: from about
    8 examples on in perceptrons, 4 in convolutions.
    """

    size: int = 4
    damping: float = 1.0
    """The step of a group's messages from the old to the new, after a visit's first iteration."""
    without_own_force: bool = False
    """True lets later layers take an example's force out of the means of its pre-activations."""
    solver_iterations: ClassVar[int] = 0
    joint_precisions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_count(self, "size")
        require_between(self, 1e-6, 1 + 1e-12, "damping")


@dataclass(frozen=True)
class Coupled:
    """Groups of `size` examples whose forces are solved for together (coupling.py).

    The published fixed points, but for `without_own_force`, which replaces the marginals of
    variational message passing by cavities.
    """

    size: int = 64
    damping: float = 0.5
    """The step of a group's messages from the old to the new, after a visit's first iteration."""
    solver_iterations: int = 5
    without_own_force: bool = True
    joint_precisions: bool = False
    """True gives a group's messages to weights the precisions of its joint posterior (joint.py),
    rather than sums over rows, a convolution's positions, as if they were independent. Needs
    cavities of rows, which `MessageAccuracy` then chooses."""

    def __post_init__(self) -> None:
        require_count(self, "size", "solver_iterations")
        require_between(self, 1e-6, 1 + 1e-12, "damping")


Schedule = Sequential | GroupSequential | Coupled


def calmer(schedule: Schedule) -> tuple[Schedule, ...]:
    """Return the schedules that are tried in turn after a visit that went wrong.

    The group is halved twice; the last is the published schedule, the calmest of all. Smaller steps
    instead of smaller groups did not stop coupled groups of 128, undamped, from getting worse.
    """
    if isinstance(schedule, Sequential):
        return ()
    sizes = [size for size in (schedule.size // 2, schedule.size // 4) if size]
    return (*(replace(schedule, size=size) for size in sizes), Sequential())


def ramp(epochs: int) -> tuple[int, ...]:
    """Return the published iterations of a visit by epoch: 1, 1, 2, 2, 3, 3, ..."""
    return tuple(-(-epoch // 2) for epoch in range(1, epochs + 1))


def published_step(epoch: int) -> float:
    """Return how far a batch's stored message moves to the new one, in epoch 1, 2, ...

    0.9 + 0.1 exp(-0.3 (epoch - 1)): the damping of the published code.
    """
    return 0.9 + 0.1 * exp(-0.3 * (epoch - 1))
