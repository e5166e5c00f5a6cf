"""Conditions for starting a long profile on a machine paid for by the minute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bnnbench.methods.base import Method, Problem
from bnnbench.methods.fitting.rehearsal import Rehearsal


@dataclass(frozen=True)
class FirstPass:
    """The scores of a short fit to all training rows on another machine.

    They depend on the device's random numbers, so the tolerances cover differences between seeds.
    """

    method: Method
    accuracy: float
    accuracy_within: float
    """Tolerance of the accuracy."""
    log_loss: float
    log_loss_within: float
    test_rows: int
    """Number of test rows scored, from the first."""


@dataclass(frozen=True)
class Gates:
    """A profile, its default methods, and the conditions that must hold before it starts."""

    profile: str
    methods: tuple[str, ...]
    tests: str
    """File or folder of tests on the device, marked `gpu`, in a clone."""
    rehearsed: type
    """The class of the methods that get a dry fit."""
    rehearse: Callable[[Any, Problem], Rehearsal]
    minutes: float
    """Maximum time of one fit."""
    first_pass: FirstPass
