r"""The Laplace approximation with a diagonal Hessian and evidence updates of both precisions.

Training minimises $\tfrac\beta2 \sum_n |y_n - f(x_n)|^2 + \tfrac\alpha2 |w|^2$. With h the
diagonal of the Gauss-Newton Hessian of half the squared errors and N targets,

$$ \gamma = \sum_i \beta h_i / (\beta h_i + \alpha), \qquad \alpha = \gamma / |w|^2, \qquad
   \beta = (N - \gamma) / \sum_n |y_n - f(x_n)|^2 $$

alternate with training until they converge. The posterior is N(w, diag(β h + α)⁻¹); outputs are
linearised in the weights. A classifier has no β, uses h of its cross-entropy, and probits instead
of its softmax.

Sources: MacKay (1992), "A Practical Bayesian Framework for Backpropagation Networks"; the
diagonal as in Hernández-Lobato and Adams (2015), section 5.4, which finds that it impairs the
choice of the precisions: γ counts each weight independently of the others and may exceed N.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, no_type_check

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Likelihood
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.members import in_threads
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from bnnbench.methods.tuning.space import Space

PRECISIONS = 1e-6, 1e8
"""Minimum and maximum value of both precisions, in standardised units."""
STAYS = 1e-3
"""The precisions have converged when the log of neither changes by more than this."""


@dataclass(frozen=True)
class LaplacePosterior:
    """A Gaussian over weights, from which a linearised perceptron predicts."""

    likelihood: Likelihood
    widths: Int[np.ndarray, " layers"]
    tanh: bool
    weights: Float[np.ndarray, " parameters"]
    precision: Float[np.ndarray, " parameters"]
    noise_variance: float
    diagnostics: dict[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return one Gaussian or one categorical per point; the stream is not used."""
        from bnnbench.methods.row_by_row.kernels.laplace import linearised

        rows = inputs.flatten(1).double().cpu().numpy()
        means, spreads = (
            torch.from_numpy(values)[None].to(inputs.device)
            for values in linearised(self.weights, 1 / self.precision, self.widths, self.tanh, rows)
        )
        if isinstance(self.likelihood, Categorical):
            # MacKay (1992), "The Evidence Framework Applied to Classification Networks".
            scaled = means / (1 + math.pi / 8 * spreads).sqrt()
            return CategoricalPredictive(scaled.log_softmax(-1))
        return GaussianPredictive(means, spreads + self.noise_variance)


@dataclass(frozen=True)
class LaplaceDiagonal(Batched):
    """Full-batch training by L-BFGS between evidence updates; ReLU and tanh perceptrons."""

    card: ClassVar[Card] = Card(
        "Laplace",
        problems=("mlp regression", "mlp classification"),
        gradients=False,
        restarts="a few quasi-Newton searches, whose state SciPy holds",
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    evidence_updates: int = 100
    """Maximum number of updates; `converged` reports whether the precisions settled earlier, and
    within bounds.
    """
    iterations: int = 200
    """Maximum number of L-BFGS iterations between two updates."""
    initial_prior_precision: float = 1.0
    """Precision of the prior before the first update."""
    initial_noise_precision: float = 1.0
    """Precision of the noise before the first update."""

    def __post_init__(self) -> None:
        require_count(self, "evidence_updates", "iterations")
        require_positive(self, "initial_prior_precision", "initial_noise_precision")

    def warm_up(self, problem: Problem) -> None:
        """Compile loss, curvature and linearised predictions."""
        fit_first_rows(replace(self, evidence_updates=1, iterations=1), problem)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, several at a time in threads."""
        return in_threads(self._fit, problems, rngs)

    def _fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        from bnnbench.methods.row_by_row.kernels.laplace import curvature

        rows, likelihood = RowPerceptron(problem), problem.likelihood
        alpha, beta, learned = self.initial_prior_precision, 1.0, False
        if isinstance(likelihood, Gaussian):
            noise_std = likelihood.noise_std
            beta = self.initial_noise_precision if noise_std is None else noise_std**-2
            learned = noise_std is None
        weights, updates, guarded = rows.initial(rng), 0, 0
        while True:
            weights, loss = most_probable(rows, weights, alpha, beta, self.iterations)
            diagonal = curvature(weights, rows.widths, rows.tanh, rows.inputs, rows.categorical)
            precision = beta * diagonal + alpha
            effective = float((beta * diagonal / precision).sum())
            better, at_bound = better_precisions(
                effective, weights, loss, rows.targets.size if learned else None, beta
            )
            updates, guarded = updates + 1, guarded + at_bound
            progress.report(updates, self.evidence_updates, loss / len(rows.inputs))
            settled = all(
                abs(math.log(new / old)) < STAYS
                for new, old in zip(better, (alpha, beta), strict=True)
            )
            if settled or updates == self.evidence_updates:
                break
            alpha, beta = better
        noise = {"noise_std": beta**-0.5} if isinstance(likelihood, Gaussian) else {}
        return LaplacePosterior(
            likelihood,
            rows.widths,
            rows.tanh,
            weights,
            precision,
            1 / beta,
            noise
            | {
                "prior_precision": alpha,
                "effective_parameters": effective,
                "evidence_updates": float(updates),
                "guarded_updates": float(guarded),
                "converged": float(settled and not at_bound),
            },
        )


def better_precisions(
    effective: float,
    weights: Float[np.ndarray, " parameters"],
    loss: float,
    targets: int | None,
    beta: float,
) -> tuple[tuple[float, float], bool]:
    """Return alpha and beta after an evidence update, and whether a bound limited either.

    If `targets` is None, beta stays. If the effective parameters use all degrees of freedom, one
    is left to the noise.
    """
    tiny, (low, high) = np.finfo(float).tiny, PRECISIONS
    alpha = effective / max(float(np.square(weights).sum()), tiny)
    best = min(max(alpha, low), high), beta
    if targets is None:
        return best, best[0] != alpha
    beta = max(targets - effective, 1.0) / max(2 * loss, tiny)
    best = best[0], min(max(beta, low), high)
    return best, targets - effective < 1 or best != (alpha, beta)


def most_probable(
    rows: RowPerceptron,
    start: Float[np.ndarray, " parameters"],
    alpha: float,
    beta: float,
    iterations: int,
) -> tuple[Float[np.ndarray, " parameters"], float]:
    """Return the weights that minimise beta * loss + alpha / 2 |w|², and their summed loss.

    Raises `InferenceDiverged` if the loss is not finite.
    """
    from bnnbench.methods.row_by_row.kernels.laplace import total_loss

    arrays = rows.widths, rows.tanh, rows.inputs, rows.targets, rows.categorical
    arguments = (1 / len(rows.inputs), alpha / (beta * len(rows.inputs)), total_loss, arrays)
    if not math.isfinite(penalised(start, *arguments)[0]):
        raise InferenceDiverged("the loss is not finite")
    options = {"maxiter": iterations, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-7}
    optimum = minimize(penalised, start, arguments, jac=True, method="L-BFGS-B", options=options)
    work.count("gradient_rows", len(rows.inputs) * (optimum.nfev + 2))
    loss, _ = total_loss(optimum.x, *arrays)
    if not (math.isfinite(loss) and np.isfinite(optimum.x).all()):
        raise InferenceDiverged("the loss is not finite")
    return optimum.x, loss


@no_type_check  # called thousands of times
def penalised(weights, share, decay, total_loss, arrays):
    """Return share * loss + decay / 2 |w|² and its gradient."""
    loss, gradient = total_loss(weights, *arrays)
    value = share * loss + 0.5 * decay * np.dot(weights, weights)
    return value, share * gradient + decay * weights
