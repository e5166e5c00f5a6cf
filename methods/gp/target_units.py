"""Targets as a Gaussian process models them: standardised, or the standardised logarithm."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Problem
from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive

Values = Float64[np.ndarray, " rows"]


@dataclass(frozen=True)
class TargetUnits:
    """The map from targets y to (t - mean) / std, where t is y or, given `zero`, log(y - zero)."""

    mean: float
    std: float
    zero: float | None = None
    """Lower end of the targets, if the process models their logarithm."""

    @classmethod
    def of(cls, targets: Values, zero: float | None) -> "TargetUnits":
        """Return the map that gives these targets mean 0 and, unless they are equal, variance 1."""
        values = targets if zero is None else np.log(targets - zero)
        return cls(float(values.mean()), float(values.std()) or 1.0, zero)

    def standardised(self, targets: Values) -> Values:
        """Return what the process models."""
        values = targets if self.zero is None else np.log(targets - self.zero)
        return (values - self.mean) / self.std

    def log_density(self, targets: Values, mean: Values, variance: Values) -> Values:
        """Return the log density of targets, given moments of what the process models."""
        z = self.standardised(targets)
        slope = 0.0 if self.zero is None else np.log(targets - self.zero)
        squares = (z - mean) ** 2 / variance + np.log(2 * math.pi * variance)
        return -0.5 * squares - math.log(self.std) - slope

    def predictive(self, modelled: GaussianPredictive) -> GaussianPredictive | LogNormalPredictive:
        """Return the prediction of targets, given a single Gaussian of what the process models."""
        if self.zero is None:
            return modelled.rescaled(self.mean, self.std)
        mean, std = self.mean + self.std * modelled.mean, self.std * modelled.variance.sqrt()
        return LogNormalPredictive(torch.full_like(mean, self.zero), mean, std)


def zero_of(problem: Problem) -> float | str:
    """Return the lower end of positive targets, or what their logarithm lacks."""
    zero = problem.target_zero
    if problem.likelihood != Gaussian(None):
        return "an unknown noise, as a known one is not that of the logarithm"
    if zero is None:
        return "the standardised value of a target of 0, Problem(target_zero=...)"
    return zero if float(problem.train.targets.min()) > zero else "positive targets"
