"""The conditions under which a long profile begins on a machine that is paid for by the minute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bnnbench.methods.base import Method, Problem
from bnnbench.methods.fitting.rehearsal import Rehearsal


@dataclass(frozen=True)
class FirstPass:
    """The scores of a short fit to all training rows, as they were on another machine.

    They depend on the random numbers of the device, so that the largest differences are those that
    seeds may make.
    """

    method: Method
    accuracy: float
    accuracy_within: float
    """The largest difference of the accuracy."""
    log_loss: float
    log_loss_within: float
    test_rows: int
    """The first test rows, of which these scores are."""


@dataclass(frozen=True)
class Gates:
    """A profile, the methods that run unless others are asked for, and what must hold before."""

    profile: str
    methods: tuple[str, ...]
    tests: str
    """File or folder of tests on the device, marked `gpu`, in a clone."""
    rehearsed: type
    """The class of the methods that are rehearsed."""
    rehearse: Callable[[Any, Problem], Rehearsal]
    minutes: float
    """The longest that one fit may take."""
    first_pass: FirstPass
