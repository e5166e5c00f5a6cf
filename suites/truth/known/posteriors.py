r"""Exact posteriors: in closed form for Gaussian processes, by certified chains for networks.

For a process, with K the covariances of training rows and k their covariances with a test row,

$$ m = k^T (K + \sigma^2 I)^{-1} y, \qquad s^2 = v - k^T (K + \sigma^2 I)^{-1} k. $$
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Float

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.engine.declare.streams import stream
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.hmc.convergence import ess_bulk, ess_tail, split_r_hat
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.posterior import LARGEST, HmcPosterior
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.suites.truth.known.distributions import (
    GaussianTargets,
    NetworkLaw,
    OracleProblem,
    Outputs,
    ProcessLaw,
    TestInputs,
    TrainInputs,
)


@dataclass(frozen=True)
class PosteriorOfFunction:
    """The posterior of one function's outputs, or class probabilities, at the test rows."""

    mean: Outputs
    std: Float[np.ndarray, " points"]
    prediction: Predictive
    """Prediction of noisy targets, or of classes."""
    convergence: Mapping[str, float]
    """Worst R-hat and effective sample sizes over rows and loss; empty for a closed form."""


def of_process(
    law: ProcessLaw, noise_std: float, train: TrainInputs, targets: np.ndarray, test: TestInputs
) -> PosteriorOfFunction:
    """Return the posterior of a process given one function's targets, in closed form."""
    noise = (noise_std**2 + 1e-10 * law.variance) * np.eye(len(train))
    factor = scipy.linalg.cho_factor(law.covariance(train, train) + noise, lower=True)
    across = law.covariance(train, test)
    mean = across.T @ scipy.linalg.cho_solve(factor, targets)
    explained = (scipy.linalg.solve_triangular(factor[0], across, lower=True) ** 2).sum(0)
    variance = law.variance - explained
    totals = torch.from_numpy(variance + noise_std**2)[None, :, None]
    prediction = GaussianPredictive(torch.from_numpy(mean)[None, :, None], totals)
    return PosteriorOfFunction(mean[:, None], np.sqrt(variance), prediction, {})


def of_networks(
    problem: OracleProblem,
    sampler: Hmc,
    train: TrainInputs,
    targets: Sequence[np.ndarray],
    test: TestInputs,
    outputs: int,
) -> list[PosteriorOfFunction]:
    """Return the posterior given each function's targets, by chains.

    Raises `InferenceDiverged` if every trajectory of a posterior diverges, and ValueError for a
    sampler that skips draws.
    """
    law, kind = problem.functions, problem.targets
    assert isinstance(law, NetworkLaw)
    if sampler.thinning != 1:
        raise ValueError(f"needed thinning = 1, so that all iterations count; got {sampler}")
    real = isinstance(kind, GaussianTargets)
    likelihood = Gaussian(kind.noise_std) if real else Categorical(outputs)
    inputs, tested = torch.from_numpy(train), torch.from_numpy(test)
    columns = [
        torch.from_numpy(y)[:, None] if real else torch.from_numpy(y).long() for y in targets
    ]
    problems = [
        Problem(Split(inputs, y), likelihood, law.architecture, prior=law.prior) for y in columns
    ]
    rngs = [stream("oracle", problem, number) for number in range(len(problems))]
    results = []
    for one, posterior in zip(problems, sampler.fit_many(problems, rngs), strict=True):
        if isinstance(posterior, InferenceDiverged):
            raise posterior
        assert isinstance(posterior, HmcPosterior)
        results.append(_summary(posterior, one, tested, sampler.chains))
    return results


def _summary(
    posterior: HmcPosterior, problem: Problem, test: torch.Tensor, chains: int
) -> PosteriorOfFunction:
    prediction: Any = posterior.predict(test, torch.Generator())
    fitted: Any = posterior.predict(problem.train.inputs, torch.Generator())
    of_classes = isinstance(problem.likelihood, Categorical)
    draws = (prediction.log_probs.exp() if of_classes else prediction.means).numpy()
    if of_classes:
        loss = -fitted.draw_log_probs(problem.train.targets).sum(1)
    else:
        loss = (fitted.means - problem.train.targets).square().sum((1, 2)) / 2
    followed = np.concatenate([draws.reshape(len(draws), -1), loss.numpy()[:, None]], 1)
    values = followed.reshape(chains, -1, followed.shape[1])
    return PosteriorOfFunction(
        draws.mean(0),
        np.sqrt(draws.var(0).sum(1)),
        prediction,
        {
            "r_hat": min(LARGEST, float(split_r_hat(values).max())),
            "ess_bulk": float(ess_bulk(values).min()),
            "ess_tail": float(ess_tail(values).min()),
        },
    )
