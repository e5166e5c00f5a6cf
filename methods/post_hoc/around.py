"""The common part of methods around another method."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    PriorUse,
    Problem,
    prior_use,
)
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.rows import HeldOut, held_out
from bnnbench.methods.tuning.space import Space, compose, space_of


class Around(Batched):
    """A method around the one in its field `method`, whose prior and search space it has."""

    method: Method

    @property
    def prior_use(self) -> PriorUse | None:
        """The prior use of the inner method."""
        return prior_use(self.method)

    @property
    def space(self) -> Space:
        """The search space of the inner method."""
        return compose("method", space_of(self.method))


class TwoFits(NamedTuple):
    """A fit to a part of a problem's rows, by whose other rows to choose, and a fit to all."""

    case: HeldOut
    partial: Posterior
    whole: Posterior


def fit_twice(
    method: Method, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
) -> list[TwoFits | InferenceDiverged]:
    """Return both fits to each problem, or the failure of one.

    The rows to choose by are a fifth of the training rows, or the calibration rows if there are
    any; the two fits are then one.
    """
    cases = [held_out(problem, 1)[0] for problem in problems]
    methods = [method] * len(problems)
    with progress.part(0, 2):
        partial = fit_all(methods, [case.problem for case in cases], rngs).results
    with progress.part(1, 2):
        calibrated = all(problem.calibration is not None for problem in problems)
        whole = partial if calibrated else fit_all(methods, problems, rngs).results
    return [_both(*fits) for fits in zip(cases, partial, whole, strict=True)]


def _both(
    case: HeldOut, partial: Posterior | InferenceDiverged, whole: Posterior | InferenceDiverged
) -> TwoFits | InferenceDiverged:
    if isinstance(partial, InferenceDiverged) and partial is not whole:
        return InferenceDiverged(f"without a fifth of the rows: {partial}")
    if isinstance(whole, InferenceDiverged):
        return whole
    assert not isinstance(partial, InferenceDiverged)
    return TwoFits(case, partial, whole)
