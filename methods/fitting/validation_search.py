"""Rows held out for validation, and settings chosen by Bayesian optimisation on them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Generic, TypeVar

import torch
from torch import Generator

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.expected_improvement import Range, Settings, Trial, minimise
from bnnbench.methods.fitting.starts import require_unseen
from bnnbench.methods.fitting.targets import require_output_per_target

Fitted = TypeVar("Fitted")


def held_out(train: Split, share: float, rng: Generator) -> tuple[Split, Split]:
    """Return the rows to fit and the rows to validate on, in random order.

    The latter are `share` of all rows, rounded, with at least one row on either side. Raises
    `Unsupported` for a single row.
    """
    rows = len(train)
    if rows < 2:
        raise Unsupported(f"needed at least 2 training rows, to hold some out; got {rows}")
    count = min(max(1, round(share * rows)), rows - 1)
    order = torch.randperm(rows, generator=rng, device=rng.device).to(train.inputs.device)
    return train.rows(order[count:]), train.rows(order[:count])


def set_aside(problem: Problem, share: float, rng: Generator) -> tuple[Problem, Split]:
    """Return the problem to fit and the rows to choose by.

    The latter are its calibration rows if it brings any, and the problem is then whole; otherwise
    they are held out of its training rows. Raises `Unsupported` for a trained network without
    calibration rows.
    """
    if problem.calibration is not None:
        return problem, problem.calibration
    require_unseen(problem)
    rest, validation = held_out(problem.train, share, rng)
    return replace(problem, train=rest), validation


@dataclass(frozen=True)
class Tuned(Generic[Fitted]):
    """A fit to all training rows with the settings of minimal validation loss."""

    fitted: Fitted
    trial: Trial
    diverged_trials: int
    skipped: int
    """Number of better settings that diverged when fitted to all rows."""

    @property
    def diagnostics(self) -> dict[str, float]:
        """The chosen settings and diagnostics of the search."""
        return self.trial.settings | {
            "validation_loss": self.trial.loss,
            "diverged_trials": float(self.diverged_trials),
            "skipped_settings": float(self.skipped),
        }


def tuned(
    problem: Problem,
    fit: Callable[[Problem, Settings, Generator], Fitted],
    loss: Callable[[Fitted, Split, Generator], float],
    ranges: Mapping[str, Range],
    *,
    trials: int,
    share: float,
    ceiling: float,
    rng: Generator,
) -> Tuned[Fitted]:
    """Return `fit` to all training rows, with the settings of minimal `loss` on held-out rows.

    All trials draw the same random numbers, so that they differ only in their settings.
    `fit` raises `InferenceDiverged` if it fails. A setting that fails on all rows is skipped,
    which is counted, and the next best is tried; raises `InferenceDiverged` if none is left.
    """
    require_output_per_target(problem)  # checked on all rows: a trial sees only some
    part, validation = set_aside(problem, share, rng)
    (seed,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()

    tried = count()

    def objective(settings: Settings) -> float:
        try:
            with progress.part(next(tried), trials + 1):
                fitted = fit(part, settings, Generator().manual_seed(seed))
            return loss(fitted, validation, Generator().manual_seed(seed))
        except InferenceDiverged:
            return math.inf

    finished_trials = minimise(objective, ranges, trials, rng, ceiling)
    usable = [trial for trial in finished_trials if math.isfinite(trial.loss)]
    (seed_of_all,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()
    for skipped, trial in enumerate(usable):
        try:
            with progress.part(trials, trials + 1):
                fitted = fit(problem, trial.settings, Generator().manual_seed(seed_of_all))
        except InferenceDiverged:
            continue
        return Tuned(fitted, trial, trials - len(usable), skipped)
    raise InferenceDiverged(f"each of {trials} trials diverged, on held-in rows or on all")
