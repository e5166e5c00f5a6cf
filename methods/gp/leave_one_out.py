"""Gaussian process regression with the kernel chosen by left-out rows.

If rows repeat with equal targets, the marginal likelihood can grow without bound as the noise
decreases, and so can the density of a row whose duplicate is known. Rows of equal inputs are
therefore left out together, and each is scored separately. Source: Rasmussen and Williams (2006),
"Gaussian Processes for Machine Learning", section 5.4.2, here for groups of rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress
from bnnbench.methods.gp.exact import ExactGpPosterior, GaussianProcess
from bnnbench.methods.tuning.space import Space

Groups = Sequence[Int[Tensor, "groups size"]]
"""Indices of rows that are left out together; all groups of one size are in one tensor."""


@dataclass(frozen=True)
class LeaveOneOutGp:
    """The candidate Gaussian process that predicts left-out rows best.

    The candidates are maxima of the marginal likelihood: for each kernel, the one found from the
    fixed start and the best one found with restarts.
    """

    card: ClassVar[Card] = Card(
        "Gaussian processes",
        problems=("mlp regression", "linear regression"),
        restarts="a few searches of kernels, whose state scikit-learn holds",
    )
    space: ClassVar[Space] = Space()
    prior_use: ClassVar[PriorUse] = "own"

    process: GaussianProcess = field(default_factory=GaussianProcess)
    """The kernels, restarts and rows of the candidate processes."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `Unsupported` for more rows than `process` accepts."""
        candidates = [
            (number, replace(self.process, kernels=(kernel,), restarts=restarts))
            for number, kernel in enumerate(self.process.kernels)
            for restarts in sorted({0, self.process.restarts})
        ]
        fits = []
        for place, (_, process) in enumerate(candidates):
            with progress.part(place, len(candidates)):
                fits.append(_fitted(process, problem, rng))
        groups = rows_of_equal_inputs(problem.train.inputs)
        densities = [left_out_log_density(fit, groups) for fit in fits]
        best = int(np.argmax(densities))
        chosen = {
            "kernel": float(candidates[best][0]),
            "left_out_log_likelihood": densities[best],
        }
        return replace(fits[best], diagnostics=dict(fits[best].diagnostics) | chosen)


def rows_of_equal_inputs(inputs: Float[Tensor, "rows features"]) -> Groups:
    """Return the groups of rows with equal inputs; most groups have one row."""
    group = torch.unique(inputs.cpu(), dim=0, return_inverse=True)[1]
    sizes = group.bincount()
    members = group.argsort(stable=True).split(sizes.tolist())
    return [
        torch.stack([rows for rows in members if len(rows) == size])
        for size in sizes.unique().tolist()
    ]


def left_out_log_density(posterior: ExactGpPosterior, groups: Groups) -> float:
    """Return the mean log density of a training target, given the rows of all other groups.

    The unit is nats, for standardised targets. Equations 5.10 to 5.12 with the block of a group
    instead of $[K^{-1}]_{ii}$; its inverse is the covariance of the group given the others.
    """
    precision = torch.cholesky_inverse(torch.tensor(posterior.process.L_))
    weights = precision @ torch.tensor(posterior.process.y_train_)
    total = torch.zeros(())
    for rows in groups:
        covariances = torch.linalg.inv(precision[rows[:, :, None], rows[:, None, :]])
        errors = torch.einsum("gij,gj->gi", covariances, weights[rows])
        variances = covariances.diagonal(dim1=1, dim2=2)
        total = total - 0.5 * (errors.square() / variances + (2 * math.pi * variances).log()).sum()
    return float(total) / len(weights)


def _fitted(process: GaussianProcess, problem: Problem, rng: torch.Generator) -> ExactGpPosterior:
    posterior = process.fit(problem, rng)
    assert isinstance(posterior, ExactGpPosterior)
    return posterior
