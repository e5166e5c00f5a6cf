"""Warm-up before a fit is timed: compilation, or a first epoch on a few rows."""

import warnings
from contextlib import suppress
from dataclasses import replace

import torch

from bnnbench.engine.declare.third_party import is_third_party
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.measuring.stopwatch import stopwatch
from bnnbench.engine.run.states import Loaded
from bnnbench.methods.base import Compiled, Method, Problem
from bnnbench.methods.fitting.progress import listening

FEW_ROWS = 256
"""Number of rows in the warm-up epoch."""

_warm: set[object] = set()
"""Pairs of method and kind of problem for which this process is warm."""


class _Enough(BaseException):
    """Ends the warm-up epoch."""


def warm_up(loaded: Loaded, device: torch.device) -> tuple[float, dict[str, str]]:
    """Prepare the process for a run's fit; return the seconds it took, and provenance entries.

    A method that compiles code does so. Any other method starts a fit on a few rows, which stops at
    its first progress report; by then modules, libraries and memory are loaded. Third-party methods
    start no such fit. The seconds are 0 if the process is warm already.

    A compilation error becomes a provenance entry; the fit then compiles, or raises the same error.
    Other errors are ignored here, since the fit raises them again.
    """
    run, data = loaded.run, loaded.data
    method = run.method
    problem_kind = (
        *(method, run.architecture, data.likelihood, device),
        *(data.train.inputs.shape[1:], data.train.inputs.dtype),
    )
    if problem_kind in _warm or (is_third_party(method) and not isinstance(method, Compiled)):
        return 0.0, {}
    _warm.add(problem_kind)
    entries: dict[str, str] = {}
    problem = Problem(
        *(data.train.to(device), data.likelihood, run.architecture, run.prior),
        target_zero=data.target_zero,
    )
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
