"""Families from their recipes: functions, targets, and the exact posterior of each function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.oracles.drawn import inputs_of
from bnnbench.datasets.oracles.family import FORMAT, Family
from bnnbench.engine.declare.description import describe
from bnnbench.methods.hmc.method import Hmc
from bnnbench.metrics.oracle import Law, excess_risk
from bnnbench.suites.truth.known.distributions import GaussianTargets, OracleProblem, ProcessLaw
from bnnbench.suites.truth.known.posteriors import PosteriorOfFunction, of_networks, of_process


@dataclass(frozen=True)
class Recipe:
    """A known-distribution problem, and its posteriors' sampler; None for a closed form."""

    problem: OracleProblem
    sampler: Hmc | None = None

    def __post_init__(self) -> None:
        closed = isinstance(self.problem.functions, ProcessLaw)
        if closed and not isinstance(self.problem.targets, GaussianTargets):
            raise ValueError("the posterior of a process given classes has no closed form")
        if closed == (self.sampler is not None):
            raise ValueError("needed a sampler for networks, and none for processes")


def made(name: str, recipe: Recipe) -> Family:
    """Return the family; its posteriors must still pass `family.check`.

    Raises `InferenceDiverged`, and whatever the source raises.
    """
    problem, data = recipe.problem, recipe.problem.source.load(0)
    train, test = inputs_as_float64(data)
    draws = problem.drawn(train, test)
    targets = [pair for pair, _ in draws]
    truth = np.stack([both[1] for _, both in draws])
    posteriors = posteriors_of(recipe, train, [y for y, _ in targets], test, truth.shape[2])
    noise = problem.targets.noise_std if isinstance(problem.targets, GaussianTargets) else None
    stds = np.stack([posterior.std for posterior in posteriors])
    laws = [
        Law(torch.from_numpy(f), noise, torch.from_numpy(s))
        for f, s in zip(truth, stds, strict=True)
    ]
    risks = [
        float(excess_risk(posterior.prediction, law).mean())
        for posterior, law in zip(posteriors, laws, strict=True)
    ]
    return Family(
        {
            "format": FORMAT,
            "name": name,
            "law": describe(problem),
            "noise_std": noise,
            "classes": 0 if noise is not None else truth.shape[2],
            "inputs": inputs_of(data),
            "posterior": convergence(posteriors),
            "sampler": describe(recipe.sampler),
        },
        train_targets=np.stack([y for y, _ in targets]),
        test_targets=np.stack([y for _, y in targets]),
        truth=truth,
        mean=np.stack([posterior.mean for posterior in posteriors]),
        std=stds,
        excess_risk=np.array(risks),
    )


def posteriors_of(
    recipe: Recipe, train: np.ndarray, targets: Sequence[np.ndarray], test: np.ndarray, outputs: int
) -> list[PosteriorOfFunction]:
    """Return the posterior of each function."""
    problem = recipe.problem
    if isinstance(problem.functions, ProcessLaw):
        assert isinstance(problem.targets, GaussianTargets)
        law, noise_std = problem.functions, problem.targets.noise_std
        return [of_process(law, noise_std, train, y, test) for y in targets]
    assert recipe.sampler is not None
    return of_networks(problem, recipe.sampler, train, targets, test, outputs)


def convergence(posteriors: Sequence[PosteriorOfFunction]) -> str | Mapping[str, list[float]]:
    """Return "exact", or each function's worst R-hat and effective sample sizes."""
    names = posteriors[0].convergence
    if not names:
        return "exact"
    return {name: [round(p.convergence[name], 5) for p in posteriors] for name in names}


def inputs_as_float64(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised inputs of training and test rows."""
    return data.train.inputs.double().numpy(), data.test.inputs.double().numpy()
