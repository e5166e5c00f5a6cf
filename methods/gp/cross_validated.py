"""Gaussian process regression with the kernel chosen by rows that no part of it has seen.

Marginal likelihood and leave-one-out densities choose among kernels whose settings were fitted to
all rows: with a length scale for each of many features, both are far too optimistic. Here the
settings of each candidate are refitted without each fold. If no candidate beats the constant, the
constant predicts. Source: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning",
section 5.3, for cross-validation; `map_kernels` for the settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_choice, require_count
from bnnbench.methods.gp.candidates import Candidate, TrainingRows, conditioned
from bnnbench.methods.gp.evidence import CORRELATIONS
from bnnbench.methods.gp.exact import ExactGpPosterior
from bnnbench.methods.gp.held_out_folds import Comparison, compared, folds_of
from bnnbench.methods.gp.target_units import TargetUnits, zero_of
from bnnbench.methods.gp.training import require_single_target
from bnnbench.methods.marginal import Marginal, MarginalPosterior
from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Space

PRECISION, STARTS = 1e-8, 2
"""Relative precision and number of starts of the kernel's search on all rows."""


@dataclass(frozen=True)
class CrossValidatedPosterior:
    """A Gaussian process of the target, or of its logarithm, conditioned on all training rows."""

    process: ExactGpPosterior
    units: TargetUnits
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> GaussianPredictive | LogNormalPredictive:
        """Return one distribution per point, including noise; the stream is not used."""
        return self.units.predictive(self.process.predict(inputs, rng))


@dataclass(frozen=True)
class CrossValidatedGp:
    """The Gaussian process that predicts held-out folds best, or the constant if none beats it.

    For each kernel there is a candidate with one length scale and one with a length scale for each
    feature. Time grows with the cube of the number of rows, memory with its square.
    """

    card: ClassVar[Card] = Card(
        "Gaussian processes",
        problems=("mlp regression", "linear regression"),
        restarts="short searches of kernels, whose state scipy holds",
    )
    space: ClassVar[Space] = Space()
    prior_use: ClassVar[PriorUse] = "own"

    kernels: tuple[str, ...] = ("rbf", "matern52")
    """Kernels of the candidates."""
    target: Literal["plain", "log", "either"] = "plain"
    """What a candidate models: the target, the logarithm of a positive target, or both in turn if
    targets are positive; densities of the target itself decide."""
    inflation: bool = False
    """If true, variances are multiplied by the mean squared standardised error of held-out rows,
    unless that is below 1."""
    folds: int = 5
    """Number of folds of the rows, each held out in turn."""
    rows_for_kernel: int = 500
    """Number of random rows that choose candidate and settings; the fit uses all rows."""
    most_rows: int = 10_000
    """Maximum number of rows, limited by the memory of their covariances."""

    def __post_init__(self) -> None:
        require_count(self, "rows_for_kernel", "most_rows")
        require_count(self, "folds", least=2)
        require_choice(self, "target", ("plain", "log", "either"))
        if not self.kernels or {*self.kernels} - {*CORRELATIONS}:
            choices = ", ".join(CORRELATIONS)
            raise ValueError(f"CrossValidatedGp needs kernels out of {choices}; got {self.kernels}")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior.

        Raises `Unsupported` for more than `most_rows` rows, and for the logarithm of targets that
        are not known to be positive.
        """
        rows, candidates = self._rows(problem), self._candidates(problem)
        seed = int(torch.randint(2**31, (1,), generator=rng, device=rng.device))
        numbers = np.random.default_rng(seed)
        some = rows.some(numbers.permutation(len(rows))[: self.rows_for_kernel])
        comparison = compared(candidates, some, folds_of(some, self.folds, numbers))
        if comparison.best is None:
            return _constant(problem, rng, comparison)
        units = TargetUnits.of(rows.targets, comparison.best.zero)
        kernel = comparison.best.learned(some, units, PRECISION, STARTS)
        if self.inflation:
            kernel = kernel.inflated(comparison.inflation)
        process = conditioned(kernel, rows.inputs, units.standardised(rows.targets))
        diagnostics = {**comparison.diagnostics, "noise_std": kernel.noise**0.5 * units.std}
        exact = ExactGpPosterior(process, kernel.noise, diagnostics)
        return CrossValidatedPosterior(exact, units, diagnostics)

    def _rows(self, problem: Problem) -> TrainingRows:
        noise_std, train = require_single_target(problem, self), problem.train
        if len(train) < 2:
            raise Unsupported(
                f"CrossValidatedGp needed two training rows for a variance; got {len(train)}"
            )
        if len(train) > self.most_rows:
            raise Unsupported(
                f"CrossValidatedGp needed at most {self.most_rows:,} rows, whose covariances fit "
                f"into memory; got {len(train):,}. A larger most_rows allows more"
            )
        inputs, targets = train.inputs.cpu().double().numpy(), train.targets.cpu().double().numpy()
        return TrainingRows(inputs, targets[:, 0], noise_std)

    def _candidates(self, problem: Problem) -> list[Candidate]:
        zero = None if self.target == "plain" else zero_of(problem)
        if self.target == "log" and isinstance(zero, str):
            raise Unsupported(f"the logarithm of the target needed {zero}: use target='plain'")
        plain = [None] if self.target != "log" else []
        log = [zero] if isinstance(zero, float) else []
        return [
            Candidate(kernel, shared, end)
            for end in (*plain, *log)
            for kernel in self.kernels
            for shared in (True, False)
        ]


def _constant(problem: Problem, rng: torch.Generator, comparison: Comparison) -> Posterior:
    """Return the mean and variance of the training targets, for every point."""
    posterior = Marginal().fit(problem, rng)
    assert isinstance(posterior, MarginalPosterior)
    return replace(posterior, diagnostics=dict(comparison.diagnostics))
