"""The amount of work of a fit, as far as its settings and its number of rows tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from bnnbench.commands.planning.shipped_costs import epochs_in
from bnnbench.datasets.base import Likelihood
from bnnbench.engine.declare.description import describe
from bnnbench.methods.base import BatchedMethod, Method
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.tuning.fits import fits_as_one_call
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.plan import Plan
from bnnbench.methods.tuning.rows import PARTS

COMPONENTS = 3

Work = Float64[np.ndarray, f"{COMPONENTS}"]
"""Row visits of all fits, row visits of all calls, and number of fits.

A call fits several members side by side: its time is linear in their number."""

POWER_OF_PREDICTIONS = 0.5
"""Exponent of the rows in the time of a fit that does not depend on its epochs: part of it is for
predictions of held-out rows, and part is constant."""

POWER_WITHOUT_EPOCHS = 2.0
"""Exponent of the rows in the time of a fit without epochs: a Gaussian process of up to 500 rows,
whose kernels take the square of the rows, and factorisations, which are faster, the cube."""


@dataclass(frozen=True)
class _Calls:
    """Calls that fit members for a number of epochs; None for a method without epochs."""

    calls: int
    members: int
    epochs: int | None


def work_of(method: Method, likelihood: Likelihood, rows: int, together: int) -> Work:
    """Return the work of a method's fits to this number of problems, fitted together."""
    if not isinstance(method, Tuned):
        alone = _Calls(_calls(method, 1, together), together, _epochs(method))
        return _work(alone, _rows(method, rows))
    plan = method.plan(rows, likelihood)
    refits = _Calls(_calls(plan.method, 1, together), together, _longest(plan))
    work = _work(refits, _rows(plan.method, rows))
    held_in = _rows(plan.method, rows - rows // PARTS)
    return work + sum(_work(calls, held_in) for calls in _search(plan, together))


def stacks_trials(method: Method) -> bool:
    """Return whether a method trains at several settings side by side."""
    if isinstance(method, Ensemble):
        return stacks_trials(method.member)
    return fits_as_one_call(method)


def _search(plan: Plan, together: int) -> Iterator[_Calls]:
    """Yield the calls of a search at each length."""
    for rung in range(0 if plan.is_empty else len(plan.lengths)):
        trials, each = plan.survivors(rung), plan.blocks * together
        calls = _calls(plan.method, trials, each)
        yield _Calls(calls, trials * each, plan.lengths[rung] or _epochs(plan.method))


def _longest(plan: Plan) -> int | None:
    return plan.lengths[-1] or _epochs(plan.method)


def _calls(method: Method, settings: int, problems: int) -> int:
    """Return the number of calls that fit every setting to every problem."""
    if stacks_trials(method):
        return 1
    return settings if isinstance(method, BatchedMethod) else settings * problems


def _work(calls: _Calls, rows: int) -> Work:
    visits = rows**POWER_WITHOUT_EPOCHS if calls.epochs is None else rows * calls.epochs
    fits = calls.members * rows**POWER_OF_PREDICTIONS
    return np.array([calls.members * visits, calls.calls * visits, fits], float)


def _epochs(method: Method) -> int | None:
    epochs = epochs_in({"method": describe(method)})
    return None if epochs is None else round(epochs)


def _rows(method: Method, rows: int) -> int:
    """Return the number of rows of the dearest part of a fit."""
    return min(rows, *_rows_for_kernel(describe(method)), rows)


def _rows_for_kernel(settings: object) -> Iterator[int]:
    """Yield the settings, at any depth, that limit the rows of a search for a kernel."""
    if isinstance(settings, Mapping):
        limit = settings.get("rows_for_kernel")
        if isinstance(limit, int):
            yield limit
        for value in settings.values():
            yield from _rows_for_kernel(value)
