"""Comparison of Gaussian processes by folds of rows, with kernels refitted without each fold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.fitting import progress
from bnnbench.methods.gp.candidates import Candidate, TrainingRows, conditioned
from bnnbench.methods.gp.map_kernels import NOISES
from bnnbench.methods.gp.target_units import TargetUnits, Values

Folds = Sequence[Int[np.ndarray, " some"]]
"""The rows of each fold."""

PRECISION, STARTS = 1e-4, 1
"""Relative precision and number of starts of a kernel's search in a fold."""
STANDARD_ERRORS = 2.0
"""A process must beat the constant by this number of standard errors."""


@dataclass(frozen=True)
class HeldOut:
    """The predictions of rows by processes that have not seen them."""

    log_density: Values
    """Log density of each row, in nats."""
    squares: Values
    """Square of each row's error in standard deviations, of what the process models."""


@dataclass(frozen=True)
class Comparison:
    """The candidate to predict with, and what held-out rows say of each."""

    best: Candidate | None
    """None if no candidate is shown to beat the constant."""
    inflation: float
    """The factor of the best candidate's variances that gives held-out errors their mean square, at
    least 1."""
    diagnostics: Mapping[str, float]
    """Held-out log likelihood of each candidate and the constant, in nats per row; the number of
    the chosen candidate; whether the constant predicts instead."""


def folds_of(rows: TrainingRows, count: int, rng: np.random.Generator) -> Folds:
    """Return random folds of about equal size; equal inputs are in one fold.

    There are no folds if fewer than `count` inputs differ, or if all targets are equal.
    """
    positive_zeros = rows.inputs + 0.0
    equals = np.unique(positive_zeros, axis=0, return_inverse=True)[1].ravel()
    groups = int(equals.max()) + 1
    if groups < count or rows.targets.std() == 0:
        return []
    fold_of = (rng.permutation(groups) % count)[equals]
    return [np.flatnonzero(fold_of == fold) for fold in range(count)]


def compared(candidates: Sequence[Candidate], rows: TrainingRows, folds: Folds) -> Comparison:
    """Return the best candidate for held-out rows; without folds, none."""
    if not folds:
        return Comparison(None, 1.0, {"predicts_constant": 1.0})
    constant, scores = held_out_of_constant(rows.targets, folds), []
    for number, candidate in enumerate(candidates):
        scores.append(held_out(candidate, rows, folds))
        mean = float(scores[-1].log_density.mean())
        progress.report(number + 1, len(candidates), -mean)
    best = int(np.argmax([score.log_density.mean() for score in scores]))
    beats = _beats(scores[best].log_density, constant)
    densities = {c.name: s.log_density for c, s in zip(candidates, scores, strict=True)}
    diagnostics = {
        f"held_out_{name}": float(values.mean())
        for name, values in {**densities, "constant": constant}.items()
    }
    chosen = {"candidate": float(best), "predicts_constant": float(not beats)}
    inflation = max(1.0, float(scores[best].squares.mean()))
    return Comparison(candidates[best] if beats else None, inflation, diagnostics | chosen)


def held_out(candidate: Candidate, rows: TrainingRows, folds: Folds) -> HeldOut:
    """Return the candidate's predictions of each fold, learned from the other folds alone.

    Rows whose fold has no positive definite covariances have density 0.
    """
    densities, squares = np.full(len(rows), -math.inf), np.zeros(len(rows))
    for fold in folds:
        others = rows.some(np.delete(np.arange(len(rows)), fold))
        units = TargetUnits.of(others.targets, candidate.zero)
        try:
            kernel = candidate.learned(others, units, PRECISION, STARTS)
            process = conditioned(kernel, others.inputs, units.standardised(others.targets))
        except InferenceDiverged:
            continue
        mean, std = process.predict(rows.inputs[fold], return_std=True)
        variance, targets = std**2 + kernel.noise, rows.targets[fold]
        densities[fold] = units.log_density(targets, mean, variance)
        squares[fold] = (units.standardised(targets) - mean) ** 2 / variance
    return HeldOut(densities, squares)


def held_out_of_constant(targets: Values, folds: Folds) -> Values:
    """Return the log density of each row under mean and variance of the other folds' targets."""
    densities = np.zeros(len(targets))
    least = NOISES[0] * targets.std()
    for fold in folds:
        others = np.delete(targets, fold)
        units = TargetUnits(float(others.mean()), max(float(others.std(ddof=1)), least))
        some = targets[fold]
        densities[fold] = units.log_density(some, np.zeros_like(some), np.ones_like(some))
    return densities


def _beats(densities: Values, constant: Values) -> bool:
    gains = densities - constant
    if not np.isfinite(gains).all():
        return False
    error = gains.std(ddof=1) / math.sqrt(len(gains))
    return bool(gains.mean() > STANDARD_ERRORS * error)
