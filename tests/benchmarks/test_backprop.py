"""Microseconds per update, seconds per search, and twenty folds side by side."""

import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.datasets.official.uci import Uci
from bnnbench.methods.base import BatchedMethod, Problem
from bnnbench.methods.compiled.normal import fill_normal, initial_state
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.row_by_row.backprop import Backprop
from bnnbench.methods.row_by_row.graves_vi import GravesVi
from bnnbench.methods.row_by_row.kernels.backprop import descend_epoch
from bnnbench.methods.row_by_row.kernels.graves_vi import vary_epoch
from bnnbench.methods.row_by_row.laplace_diagonal import LaplaceDiagonal
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from tests.methods.problems import stream, streams

ROWS = 400
NETWORKS = {
    "4-50-1": (4, [50]),
    "13-50-1": (13, [50]),
    "9-100-1": (9, [100]),
    "13-50-50-1": (13, [50, 50]),
}
SEARCHES = {"Backprop": Backprop(), "Graves VI": GravesVi()}
METHODS: dict[str, BatchedMethod] = {
    "Backprop": Backprop(trials=12),
    "Graves VI": GravesVi(trials=12),
    "Laplace": LaplaceDiagonal(),
}


def synthetic(features: int, hidden: list[int], rows: int = ROWS, seed: int = 0) -> Problem:
    rng = stream(seed)
    inputs = torch.randn(rows, features, generator=rng)
    targets = inputs[:, :1] - inputs[:, 1:2].square() + torch.randn(rows, 1, generator=rng)
    return Problem(Split(inputs, targets), Gaussian(), mlp(hidden, 1))


def measure(benchmark, epoch: Callable[[], float], rows: int = ROWS) -> None:
    benchmark.pedantic(epoch, warmup_rounds=1, rounds=200)
    if benchmark.enabled:
        benchmark.extra_info["microseconds_an_update"] = 1e6 * benchmark.stats["min"] / rows


@pytest.mark.parametrize("name", NETWORKS)
def test_an_update_by_gradient_descent(name, benchmark):
    """The target is less than 1 µs with 13 inputs and 50 hidden units."""
    rows = RowPerceptron(synthetic(*NETWORKS[name]))
    weights, order = rows.initial(stream(0)), torch.randperm(ROWS).numpy()
    arrays = rows.widths, rows.tanh, rows.inputs, rows.targets, order, False
    velocity = np.zeros_like(weights)
    measure(benchmark, lambda: descend_epoch(weights, velocity, *arrays, 1e-4, 0.9, 1e-4))


@pytest.mark.parametrize("name", NETWORKS)
def test_an_update_by_variational_inference(name, benchmark):
    rows = RowPerceptron(synthetic(*NETWORKS[name]))
    mean, order = rows.initial(stream(0)), torch.randperm(ROWS).numpy()
    changing = mean, np.full_like(mean, 400.0), 0 * mean, 0 * mean, initial_state(stream(1))
    arrays = rows.widths, rows.tanh, rows.inputs, rows.targets, order, False, True
    rest = 1e-4, 0.9, float(ROWS), 0.1, 0.0, 1.0
    measure(benchmark, lambda: vary_epoch(*changing, *arrays, *rest))


def test_normals_inside_a_loop(benchmark):
    state, values = initial_state(stream(0)), np.empty(4096)
    benchmark.pedantic(fill_normal, args=(state, values), warmup_rounds=1, rounds=500)
    if benchmark.enabled:
        benchmark.extra_info["nanoseconds_a_normal"] = 1e9 * benchmark.stats["min"] / 4096


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_of_thirty_trials_on_boston(name, benchmark, data_folder):
    data = Uci("boston").load(0)
    problem = Problem(data.train, data.likelihood, mlp([50], 1))
    benchmark.pedantic(lambda: SEARCHES[name].fit(problem, stream(0)), warmup_rounds=1, rounds=3)


@pytest.mark.parametrize("name", METHODS)
def test_twenty_folds_together_and_one_by_one(name, benchmark):
    """Seconds on the clock, with two threads and with one."""
    method = METHODS[name]
    problems = [synthetic(13, [50], rows=455, seed=seed) for seed in range(20)]
    method.fit(problems[0], stream(0))  # compiles
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        benchmark.pedantic(lambda: method.fit_many(problems, streams(*range(20))), rounds=1)
    finally:
        torch.set_num_threads(before)
    start = time.perf_counter()
    for problem, rng in zip(problems, streams(*range(20)), strict=True):
        method.fit(problem, rng)
    benchmark.extra_info["one_by_one_seconds"] = time.perf_counter() - start
