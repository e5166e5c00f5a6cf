"""The time of training a module by a method, relative to a plain PyTorch loop."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem
from bnnbench.methods.networks.architectures import TorchModule
from tests.benchmarks.test_methods import cpu_seconds
from tests.methods.networks.modules.examples import ResNet
from tests.methods.problems import streams

EPOCHS, BATCH, CLASSES = 3, 64, 10


def perceptron() -> nn.Module:
    """Return a network of two hidden layers."""
    hidden = nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(128, CLASSES))


NETWORKS = {
    "ResNet": (ResNet, {"channels": 3, "width": 16, "classes": CLASSES}, (3, 32, 32), 512),
    "MLP": (perceptron, {}, (64,), 8192),
}


def plain_loop(module: nn.Module, train: Split) -> None:
    """Train as a PyTorch tutorial does."""
    optimiser = torch.optim.AdamW(module.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(train)).split(BATCH):
            optimiser.zero_grad()
            functional.cross_entropy(module(train.inputs[rows]), train.targets[rows]).backward()
            optimiser.step()
        schedule.step()


@pytest.mark.parametrize("name", NETWORKS)
def test_training_of_a_module_relative_to_a_plain_loop(name, benchmark):
    """The target is a ratio of at most 1.1."""
    kind, arguments, shape, rows = NETWORKS[name]
    (rng,) = streams(0)
    targets = torch.randint(CLASSES, (rows,), generator=rng)
    train = Split(torch.randn(rows, *shape, generator=rng), targets)
    layer = TorchModule(kind, CLASSES, arguments=arguments)
    problem = Problem(train, Categorical(CLASSES), (layer,))
    method = AdamW(epochs=EPOCHS, batch_size=BATCH)
    method.fit(problem, streams(0)[0])  # builds the objects that stay in memory

    def ours() -> None:
        method.fit(problem, streams(0)[0])

    def plain() -> None:
        plain_loop(kind(**arguments), train)

    plain()
    benchmark.pedantic(ours, rounds=1)
    pairs = [(cpu_seconds(ours), cpu_seconds(plain)) for _ in range(5)]
    seconds, plain_seconds = map(min, zip(*pairs, strict=True))
    benchmark.extra_info["plain_seconds"] = plain_seconds
    benchmark.extra_info["ratio"] = seconds / plain_seconds
