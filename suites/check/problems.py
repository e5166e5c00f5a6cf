"""Small problems, made from a seed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.card import Card
from bnnbench.methods.networks.architectures import (
    Architecture,
    Conv2d,
    Flatten,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
)
from bnnbench.methods.networks.start import Start
from bnnbench.methods.networks.torch_network import TorchNetwork

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
    """Return a linear function of four features with Gaussian noise of `true_std`."""
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
    """Return three classes, each with its own mean."""
    rng = stream(seed)
    targets = torch.randint(3, (rows,), generator=rng)
    means = torch.randn(3, *shape, generator=stream(99), dtype=dtype)
    inputs = means[targets] + torch.randn(rows, *shape, generator=rng, dtype=dtype)
    return Problem(Split(inputs, targets), Categorical(3), architecture or (*HIDDEN, Linear(3)))


def images(
    seed: int = 0, rows: int = 21, *, real: bool = False, dtype: torch.dtype = torch.float32
) -> Problem:
    """Return tiny images with three classes or a real target, for a tiny network."""
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


def trained(make: Callable[..., Problem]) -> Callable[..., Problem]:
    """Return a function that makes the same problems, with trained networks and unseen rows.

    The networks have random weights.
    """

    def made(seed: int = 0, *rows: int, **options: Any) -> Problem:
        problem = make(seed, *rows, **options)
        network = TorchNetwork(problem.architecture, problem.input_shape)
        inputs = problem.train.inputs
        weights = network.initial_weights([stream(seed + 50)], dtype=inputs.dtype)
        buffers = network.initial_buffers(weights, [inputs])
        unseen = make(seed + 1, *rows, **options).train
        return replace(problem, start=Start(weights[0], buffers[0]), calibration=unseen)

    return made


def problems_of(method: object) -> "Mapping[str, Callable[..., Problem]]":
    """Return kind of problem → function that makes one for a method, from a seed."""
    card = getattr(type(method), "card", Card())
    return {kind: trained(make) if card.trained else make for kind, make in PROBLEMS.items()}


PROBLEMS: Mapping[str, Callable[..., Problem]] = {
    "mlp regression": regression,
    "mlp classification": classification,
    "linear regression": partial(regression, noise_std=0.5, architecture=(Linear(1, bias=False),)),
    "cnn regression": partial(images, real=True),
    "cnn classification": images,
}
"""Kind of problem (`methods.card`) → the function that makes one from a seed."""
