"""Fits of targets whose scale is far from 1, by methods made for standardised targets."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Gaussian, Likelihood, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.targets import target_units
from bnnbench.methods.predictions.base import Predictive, require
from bnnbench.methods.predictions.predictive import RealPredictive

ORDINARY = 1e-2, 1e2
"""Standard deviations of targets that are fitted as they are."""

Fit = TypeVar("Fit", bound=Callable[..., list])


@dataclass(frozen=True)
class Rescaled:
    """A posterior for standardised targets, whose predictions are in the targets' unit."""

    posterior: Posterior
    mean: float
    std: float

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the fit, with the noise in the targets' unit."""
        values = dict(self.posterior.diagnostics)
        return values | {k: self.std * v for k, v in values.items() if k == "noise_std"}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the predictive distribution of each point."""
        prediction = self.posterior.predict(inputs, rng)
        require(prediction, "rescaled")
        return cast(RealPredictive, prediction).rescaled(self.mean, self.std)


def scale_free(fit: Fit) -> Fit:
    """Return the fit of several problems, standardising single targets of an extreme scale."""

    @functools.wraps(fit)
    def fitted(
        method: Any, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        units = [_extreme_units(problem) for problem in problems]
        if not any(units):
            return fit(method, problems, rngs)
        scaled = [_standardised(*p) for p in zip(problems, units, strict=True)]
        alike: dict[Likelihood, list[int]] = {}  # problems of one fit share their noise
        for place, problem in enumerate(scaled):
            alike.setdefault(problem.likelihood, []).append(place)
        results: dict[int, Posterior | InferenceDiverged] = {}
        for places in alike.values():
            ends = fit(method, [scaled[k] for k in places], [rngs[k] for k in places])
            results |= zip(places, ends, strict=True)
        return [_rescaled(results[place], unit) for place, unit in enumerate(units)]

    return cast(Fit, fitted)


def _rescaled(
    result: Posterior | InferenceDiverged, units: tuple[float, float] | None
) -> Posterior | InferenceDiverged:
    if units is None or isinstance(result, InferenceDiverged):
        return result
    return Rescaled(result, *units)


def _extreme_units(problem: Problem) -> tuple[float, float] | None:
    """Return mean and deviation of a single target if the latter is extreme.

    A trained network answers in the units of its targets, which stay as they are.
    """
    if problem.start is not None:
        return None
    mean, std = target_units(problem)
    low, high = ORDINARY
    if len(std) != 1 or low <= float(std) <= high:
        return None
    return float(mean), float(std)


def _standardised(problem: Problem, units: tuple[float, float] | None) -> Problem:
    if units is None:
        return problem

    def scaled(rows: Split) -> Split:
        targets = ((rows.targets.double() - mean) / std).to(rows.targets)
        return replace(rows, targets=targets)

    mean, std = units
    train, calibration = scaled(problem.train), problem.calibration and scaled(problem.calibration)
    known = cast(Gaussian, problem.likelihood).noise_std
    likelihood = Gaussian(None if known is None else known / std)
    zero = None if problem.target_zero is None else (problem.target_zero - mean) / std
    return replace(
        problem, train=train, calibration=calibration, likelihood=likelihood, target_zero=zero
    )
