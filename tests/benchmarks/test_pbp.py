"""The time of an update of probabilistic backpropagation, and of its compilation."""

import os
import subprocess
import sys
import time

import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.pbp.state import Layout, initial, with_bias
from tests.benchmarks.test_methods import cpu_seconds, fold
from tests.methods.pbp.states import BACKENDS
from tests.methods.problems import stream, streams

ROWS = 455
NETWORKS = {
    "13-50-1": (13, 50, 1),
    "8-50-1": (8, 50, 1),
    "9-100-1": (9, 100, 1),
    "13-50-50-1": (13, 50, 50, 1),
}


def epoch(backend: str, widths: tuple[int, ...], rows: int, covariances: bool = False):
    """Return a function that carries out one epoch."""
    rng = stream(0)
    inputs = torch.randn(rows, widths[0], generator=rng, dtype=torch.float64)
    targets = inputs[:, :1] - inputs[:, 1:2].square()
    noise = torch.full((1, 2), 6.0, dtype=torch.float64)
    state = initial(Layout(widths), (6.0, 6.0), noise, True, rng)
    scaled = targets / targets.std()
    rows_of = BACKENDS[backend].Filter(state, with_bias(inputs), scaled, covariances)

    def once() -> None:
        rows_of.take(torch.randperm(rows, generator=rng))
        rows_of.refine()

    return once


@pytest.mark.parametrize("network", NETWORKS)
def test_an_update(network, benchmark):
    """The target is 0.57 µs for 13-50-1, a tenth of what the authors' C program takes."""
    once = epoch("compiled", NETWORKS[network], ROWS)
    once()  # compiles
    benchmark.pedantic(once, rounds=20, iterations=10)
    best = min(cpu_seconds(once) for _ in range(200))
    benchmark.extra_info["microseconds_per_update"] = best / ROWS * 1e6


def test_an_update_with_covariances(benchmark):
    network = NETWORKS["13-50-50-1"]
    plain, once = (epoch("compiled", network, ROWS, each) for each in (False, True))
    plain(), once()  # compiles
    benchmark.pedantic(once, rounds=20)
    best, of_plain = (min(cpu_seconds(each) for _ in range(50)) for each in (once, plain))
    benchmark.extra_info["microseconds_per_update"] = best / ROWS * 1e6
    benchmark.extra_info["times_the_update_without"] = best / of_plain


def test_an_update_in_plain_pytorch(benchmark):
    once = epoch("reference", NETWORKS["13-50-1"], 50)
    benchmark.pedantic(once, rounds=3)
    best = min(cpu_seconds(once) for _ in range(3))
    benchmark.extra_info["microseconds_per_update"] = best / 50 * 1e6


def test_an_update_of_a_classifier(benchmark):
    rng, rows = stream(0), 500
    inputs = torch.randn(rows, 784, generator=rng)
    targets = torch.randint(10, (rows,), generator=rng)
    problem = Problem(Split(inputs, targets), Categorical(10), mlp([100], outputs=10))
    method = Pbp(epochs=1)
    method.fit(problem, stream(1))
    benchmark.pedantic(lambda: method.fit(problem, stream(1)), rounds=5)
    best = min(cpu_seconds(lambda: method.fit(problem, stream(1))) for _ in range(5))
    benchmark.extra_info["microseconds_per_update_of_784_100_10"] = best / rows * 1e6


@pytest.mark.parametrize("threads", [1, 2])
def test_twenty_folds_side_by_side_and_one_by_one(threads, benchmark):
    """Rows are taken one after another: the processors are shared, with one fit on each."""
    method, problems = Pbp(), [fold(seed) for seed in range(20)]
    assert problems[0].likelihood == Gaussian()
    method.fit(problems[0], stream(0))

    def together() -> None:
        method.fit_many(problems, streams(*range(20)))

    def one_by_one() -> None:
        for problem, rng in zip(problems, streams(*range(20)), strict=True):
            method.fit(problem, rng)

    torch.set_num_threads(threads)
    try:
        benchmark.pedantic(together, rounds=3)
        many, single = (min(seconds(work) for _ in range(3)) for work in (together, one_by_one))
    finally:
        torch.set_num_threads(1)
    benchmark.extra_info["ratio"] = single / many


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


FIRST_FIT = """
import time
from bnnbench.methods.pbp.method import Pbp
from tests.methods.problems import regression, stream
start = time.perf_counter()
Pbp(epochs=1).fit(regression(), stream(0))
print(time.perf_counter() - start)
"""


def test_the_first_fit_of_a_process(benchmark, project, tmp_path):
    """With an empty cache it compiles; later ones read the cache."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def first_fit() -> float:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_FIT],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)

    benchmark.extra_info["seconds_to_compile"] = first_fit()
    benchmark.extra_info["seconds_from_the_cache"] = benchmark.pedantic(first_fit, rounds=3)
