"""Work before the clock of a fit starts: compilation, and a first epoch on a few rows."""

import warnings
from contextlib import suppress
from dataclasses import replace

import torch

from bnnbench.engine.declare.third_party import is_foreign
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.measuring.stopwatch import stopwatch
from bnnbench.engine.run.states import Loaded
from bnnbench.methods.base import Compiled, Method, Problem
from bnnbench.methods.fitting.progress import listening

FEW_ROWS = 256
"""Rows of the first epoch before the clock."""

_warm: set[object] = set()
"""Methods and kinds of problems that this process is ready for."""


class _Enough(BaseException):
    """The first epoch before the clock is over."""


def warm_up(loaded: Loaded, device: torch.device) -> tuple[float, dict[str, str]]:
    """Prepare the process for a run's fit; return the seconds it took, and provenance entries.

    A method that compiles does so. Any other begins a fit to a few rows, which ends with its first
    report: modules, libraries and memory are loaded then. A method that is not of this project
    begins no fit but its own. The seconds are 0 for what was prepared before.

    An error of compilation becomes an entry: compilation is then part of the fit, which raises the
    same error or takes its time. Any other error is raised again there.
    """
    run, data = loaded.run, loaded.data
    method = run.method
    problem_kind = (
        *(method, run.architecture, data.likelihood, device),
        *(data.train.inputs.shape[1:], data.train.inputs.dtype),
    )
    if problem_kind in _warm or (is_foreign(method) and not isinstance(method, Compiled)):
        return 0.0, {}
    _warm.add(problem_kind)
    entries: dict[str, str] = {}
    problem = Problem(data.train.to(device), data.likelihood, run.architecture, run.prior)
    with stopwatch(device) as watch:
        if isinstance(method, Compiled):
            entries = _compile(method, problem)
        else:
            _begin(method, problem)
    return watch.seconds, entries


def _compile(method: Compiled, problem: Problem) -> dict[str, str]:
    with listening(lambda *_: None):
        try:
            method.warm_up(problem)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            reason = f"{type(error).__name__}: {message(error)}"
            return {"not_compiled_before_the_fit": reason}
    return {}


def _begin(method: Method, problem: Problem) -> None:
    """Fit a few rows until the first report."""

    def stop(*report: object) -> None:
        raise _Enough

    train = problem.train
    few_rows = replace(
        train, inputs=train.inputs[:FEW_ROWS].clone(), targets=train.targets[:FEW_ROWS].clone()
    )
    rng = torch.Generator(train.inputs.device).manual_seed(0)
    with listening(stop), warnings.catch_warnings(), suppress(Exception, _Enough):
        warnings.simplefilter("ignore")
        method.fit(replace(problem, train=few_rows), rng)
