"""Small problems for tests, made from a seed."""

import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.networks.architectures import (
    Architecture,
    Conv2d,
    Flatten,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
)

HIDDEN: Architecture = (Linear(7), ReLU())
CONVOLUTIONAL: Architecture = (
    Conv2d(3, kernel=3),
    LeakyReLU(0.1),
    MaxPool2d(2),
    Flatten(),
    Linear(6),
    ReLU(),
)


def regression(
    seed: int = 0,
    rows: int = 37,
    *,
    noise_std: float | None = None,
    architecture: Architecture | None = None,
    true_std: float = 0.3,
    dtype: torch.dtype = torch.float32,
) -> Problem:
    """Return a linear truth of four features with Gaussian noise of `true_std`."""
    rng = stream(seed)
    inputs = torch.randn(rows, 4, generator=rng, dtype=dtype)
    slopes = torch.tensor([[0.8], [-0.5], [0.2], [0.0]], dtype=dtype)
    noise = torch.randn(rows, 1, generator=rng, dtype=dtype)
    train = Split(inputs, inputs @ slopes + true_std * noise)
    return Problem(train, Gaussian(noise_std), architecture or (*HIDDEN, Linear(1)))


def classification(
    seed: int = 0,
    rows: int = 37,
    *,
    shape: tuple[int, ...] = (4,),
    architecture: Architecture | None = None,
    dtype: torch.dtype = torch.float32,
) -> Problem:
    """Return three classes, each with a mean of its own."""
    rng = stream(seed)
    targets = torch.randint(3, (rows,), generator=rng)
    means = torch.randn(3, *shape, generator=stream(99), dtype=dtype)
    inputs = means[targets] + torch.randn(rows, *shape, generator=rng, dtype=dtype)
    return Problem(Split(inputs, targets), Categorical(3), architecture or (*HIDDEN, Linear(3)))


def images(
    seed: int = 0, rows: int = 21, *, real: bool = False, dtype: torch.dtype = torch.float32
) -> Problem:
    """Return tiny images with three classes, or with a real target, for a tiny network."""
    problem = classification(
        seed, rows, shape=(2, 8, 8), architecture=(*CONVOLUTIONAL, Linear(3)), dtype=dtype
    )
    if not real:
        return problem
    targets = problem.train.inputs.mean((1, 2, 3))[:, None]
    return Problem(Split(problem.train.inputs, targets), Gaussian(), (*CONVOLUTIONAL, Linear(1)))


def stream(seed: int) -> torch.Generator:
    """Return the generator of a seed."""
    return torch.Generator().manual_seed(seed)


def streams(*seeds: int) -> list[torch.Generator]:
    """Return a generator for each seed."""
    return [stream(seed) for seed in seeds]


def design(problem: Problem) -> Tensor:
    """Return the training inputs with a column of ones, in float64: a linear layer's view."""
    inputs = problem.train.inputs.double()
    return torch.cat([inputs, torch.ones(len(inputs), 1, dtype=torch.float64)], dim=1)


def exact_posterior(
    problem: Problem, noise_std: float, prior_precision: float
) -> tuple[Tensor, Tensor]:
    """Return mean and precision of the weights of Bayesian linear regression."""
    rows, targets = design(problem), problem.train.targets[:, 0].double()
    identity = torch.eye(rows.shape[1], dtype=torch.float64)
    precision = rows.T @ rows / noise_std**2 + prior_precision * identity
    return torch.linalg.solve(precision, rows.T @ targets / noise_std**2), precision
