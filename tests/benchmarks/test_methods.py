"""The speed-up of twenty folds side by side over one by one."""

import time
from collections.abc import Callable

import pytest
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import BatchedMethod, Problem
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.sgd import Sgd
from tests.methods.problems import streams

FOLDS = 20
ADAMW = AdamW(epochs=10, batch_size=32)
METHODS: dict[str, BatchedMethod] = {
    "AdamW": ADAMW,
    "SGD": Sgd(epochs=10, batch_size=32),
    "MC dropout": McDropout(training=ADAMW),
    "Ensemble": Ensemble(5, ADAMW),
    "MFVI": Mfvi(epochs=10, batch_size=32),
    "IVON": Ivon(epochs=10, batch_size=32),
}


def fold(seed: int) -> Problem:
    """Return a problem with the shape of one fold of Boston housing."""
    (rng,) = streams(seed)
    inputs = torch.randn(455, 13, generator=rng)
    targets = inputs[:, :1] - inputs[:, 1:2].square() + torch.randn(455, 1, generator=rng)
    return Problem(Split(inputs, targets), Gaussian(), (Linear(50), ReLU(), Linear(1)))


@pytest.mark.parametrize("name", METHODS)
def test_twenty_folds_side_by_side_and_one_by_one(name, benchmark):
    """The target is a ratio of at least 6."""
    method, problems = METHODS[name], [fold(seed) for seed in range(FOLDS)]
    method.fit(problems[0], streams(0)[0])  # imports what torch imports on first use

    def together() -> None:
        method.fit_many(problems, streams(*range(FOLDS)))

    def one_by_one() -> None:
        for problem, rng in zip(problems, streams(*range(FOLDS)), strict=True):
            method.fit(problem, rng)

    benchmark.pedantic(together, rounds=3)
    many = min(cpu_seconds(together) for _ in range(3))
    single = min(cpu_seconds(one_by_one) for _ in range(2))
    benchmark.extra_info["one_by_one_seconds"] = single
    benchmark.extra_info["ratio"] = single / many


def cpu_seconds(work: Callable[[], None]) -> float:
    """Return the processor time of the work, which other processes do not lengthen."""
    start = time.process_time()
    work()
    return time.process_time() - start
