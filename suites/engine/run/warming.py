"""Compilation of kernels before the clock of a fit starts."""

import torch

from bnnbench.methods.base import Compiled, Problem
from bnnbench.methods.fitting.progress import listening
from bnnbench.suites.engine.run.attempt import Attempt, message
from bnnbench.suites.engine.run.stopwatch import stopwatch

_warm: set[object] = set()
"""Methods and kinds of problems whose kernels are compiled in this process."""


def warm_up(attempt: Attempt, device: torch.device) -> float:
    """Compile the kernels that fitting the attempt needs, and return the seconds it took.

    They are 0 for a method that compiles nothing, and for kernels that were compiled before. An
    error here is kept with the run's provenance: compilation is then part of the fit, which meets
    the same error or has its time.
    """
    method, data = attempt.run.method, attempt.data
    problem_kind = (
        *(method, attempt.run.architecture, data.likelihood, device),
        *(data.train.inputs.shape[1:], data.train.inputs.dtype),
    )
    if not isinstance(method, Compiled) or problem_kind in _warm:
        return 0.0
    _warm.add(problem_kind)
    problem = Problem(data.train.to(device), data.likelihood, attempt.run.architecture)
    with stopwatch(device) as watch, listening(lambda *_: None):
        try:
            method.warm_up(problem)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            reason = f"{type(error).__name__}: {message(error)}"
            attempt.interruptions["not_compiled_before_the_fit"] = reason
    return watch.seconds
