"""Settings chosen by Bayesian optimisation on held-out training rows.

A Gaussian process models the validation loss, and the next trial maximises the expected
improvement. Source: Snoek, Larochelle and Adams (2012), "Practical Bayesian Optimization of
Machine Learning Algorithms"; optuna's GPSampler does the optimisation.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Generator

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged, PackageMissing, Problem, Unsupported
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.targets import require_output_per_target

Settings = dict[str, float]
Fitted = TypeVar("Fitted")

_OPTUNA = Lock()
"""Held while optuna's sampler runs, since it sets the thread count of the whole process."""


@dataclass(frozen=True)
class Range:
    """The range of a setting: from `low` to `high`, uniform in its logarithm if `log`."""

    low: float
    high: float
    log: bool = False


class Trial(NamedTuple):
    """Settings and their validation loss, which is infinite if the fit diverged."""

    settings: Settings
    loss: float


def minimise(
    objective: Callable[[Settings], float],
    ranges: Mapping[str, Range],
    trials: int,
    rng: Generator,
    ceiling: float,
) -> list[Trial]:
    """Return the trials of a sequential search, best first.

    The optimiser sees losses capped at `ceiling`, so that one exploding trial does not flatten its
    model of the others. Raises `PackageMissing` without optuna.
    """
    study, distributions = _study(ranges, rng)
    done = []
    for _ in range(trials):
        with _optuna_alone():
            asked = study.ask({**distributions})
        value = objective(dict(asked.params))
        done.append(Trial(dict(asked.params), math.inf if math.isnan(value) else value))
        with _optuna_alone():
            study.tell(asked, min(done[-1].loss, ceiling))
    return sorted(done, key=lambda trial: trial.loss)


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
    fitted_rows, validation = held_out(problem.train, share, rng)
    (seed,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()

    tried = count()

    def objective(settings: Settings) -> float:
        try:
            with progress.part(next(tried), trials + 1):
                fitted = fit(
                    replace(problem, train=fitted_rows), settings, Generator().manual_seed(seed)
                )
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


def _study(ranges: Mapping[str, Range], rng: Generator):
    """Return optuna's study and its distributions by name; imports optuna on first use."""
    try:
        import optuna
    except ImportError as missing:
        raise PackageMissing("needed optuna to choose settings: pip install optuna") from missing
    (seed,) = torch.randint(2**31, (1,), generator=rng, device=rng.device).tolist()
    distributions = {
        name: optuna.distributions.FloatDistribution(span.low, span.high, log=span.log)
        for name, span in ranges.items()
    }
    with _optuna_alone():
        sampler = optuna.samplers.GPSampler(seed=seed)
        return optuna.create_study(sampler=sampler), distributions


@contextmanager
def _optuna_alone() -> Iterator[None]:
    """Let one thread use optuna inside the block, with its log off."""
    import optuna

    with _OPTUNA:
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            yield
        finally:
            optuna.logging.set_verbosity(before)
