"""The order in which the examples of a batch send their messages, and how many at a time."""

from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar

from bnnbench.methods.fitting.settings import require_between, require_count


@dataclass(frozen=True)
class Sequential:
    """One example after another, each using up-to-date marginals: the published schedule."""

    size: ClassVar[int] = 1
    damping: ClassVar[float] = 1.0
    solver_iterations: ClassVar[int] = 0
    without_own_force: ClassVar[bool] = False
    joint_precisions: ClassVar[bool] = False


@dataclass(frozen=True)
class GroupSequential:
    """Groups of `size` examples; all use the marginals at the start of their group.

    All examples of a group correct the same residual, so large groups diverge: from about
    8 examples in perceptrons, 4 in convolutions.
    """

    size: int = 4
    damping: float = 1.0
    """The step from a group's old messages to the new ones, after a visit's first iteration."""
    without_own_force: bool = False
    """True removes an example's own force from the means of its pre-activations in later layers."""
    solver_iterations: ClassVar[int] = 0
    joint_precisions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_count(self, "size")
        require_between(self, 1e-6, 1 + 1e-12, "damping")


@dataclass(frozen=True)
class Coupled:
    """Groups of `size` examples whose forces are solved for jointly (coupling.py).

    The fixed points are the published ones, unless `without_own_force` replaces the marginals of
    variational message passing by cavities.
    """

    size: int = 64
    damping: float = 0.5
    """The step from a group's old messages to the new ones, after a visit's first iteration."""
    solver_iterations: int = 5
    without_own_force: bool = True
    joint_precisions: bool = False
    """True: a group's messages to weights have the precisions of its joint posterior (joint.py),
    instead of sums over rows (a convolution's positions) treated as independent. Needs
    cavities of rows, which `MessageAccuracy` then chooses."""

    def __post_init__(self) -> None:
        require_count(self, "size", "solver_iterations")
        require_between(self, 1e-6, 1 + 1e-12, "damping")


Schedule = Sequential | GroupSequential | Coupled


def calmer(schedule: Schedule) -> tuple[Schedule, ...]:
    """Return the fallback schedules that are tried in turn after a failed visit.

    The group is halved twice; the last schedule is the published one, the most stable. Reducing the
    step size instead of the group size did not stabilise undamped coupled groups of 128.
    """
    if isinstance(schedule, Sequential):
        return ()
    sizes = [size for size in (schedule.size // 2, schedule.size // 4) if size]
    return (*(replace(schedule, size=size) for size in sizes), Sequential())


def ramp(epochs: int) -> tuple[int, ...]:
    """Return the published iterations of a visit by epoch: 1, 1, 2, 2, 3, 3, ..."""
    return tuple(-(-epoch // 2) for epoch in range(1, epochs + 1))


def published_step(epoch: int) -> float:
    """Return the step from a batch's stored message to the new one, in epoch 1, 2, ...

    0.9 + 0.1 exp(-0.3 (epoch - 1)): the damping of the published code.
    """
    return 0.9 + 0.1 * exp(-0.3 * (epoch - 1))
