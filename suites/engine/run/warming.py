"""Kernels are compiled before the clock of a fit starts, and their seconds are kept apart."""

import torch

from bnnbench.methods.base import Compiled, Problem
from bnnbench.methods.fitting.progress import listening
from bnnbench.suites.engine.run.attempt import Attempt
from bnnbench.suites.engine.run.stopwatch import stopwatch

_warm: set[object] = set()
"""Methods and kinds of problems whose kernels this process has."""


def warm_up(attempt: Attempt, device: torch.device) -> float:
    """Compile what fitting the attempt needs, and return the seconds that took.

    They are 0 for a method that compiles nothing, and for what the process has compiled before.
    An error here is kept with the run's provenance: compilation is then part of the fit, which
    meets the same error or has its time.
    """
    method, data = attempt.run.method, attempt.data
    kind = (
        *(method, attempt.run.architecture, data.likelihood, device),
        *(data.train.inputs.shape[1:], data.train.inputs.dtype),
    )
    if not isinstance(method, Compiled) or kind in _warm:
        return 0.0
    _warm.add(kind)
    problem = Problem(data.train.to(device), data.likelihood, attempt.run.architecture)
    with stopwatch(device) as watch, listening(lambda *_: None):
        try:
            method.warm_up(problem)
        except (Exception, SystemExit) as error:
            attempt.interruptions["not_compiled_before_the_fit"] = repr(error)
    return watch.seconds
