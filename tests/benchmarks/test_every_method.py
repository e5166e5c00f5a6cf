"""Seconds of a fit and of a prediction: every registered method on problems of real shape.

`bnnbench report timing` reads the output: the method, the problem, the device, the number of
examples per measured call, and the extra time of the first call, which imports and compiles.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import Problem
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.suites.check.small import small
from tests.benchmarks.test_methods import fold
from tests.contracts.test_every_method import MISSING, covered

SETTINGS = {"epochs": 10, "batch_size": 32, "draws": 10, "size": 5, "trials": 2}
SETTINGS |= {"evidence_updates": 3, "chains": 2, "warmup": 50, "leapfrog_steps": 5}
SETTINGS |= {"iterations": (1, 2), "start": 0.0}
ROUNDS = {"fit": 3, "predict": 9}
TEST_ROWS = 1000


def digits() -> Problem:
    """Return 500 of scikit-learn's digits, 64 pixels each."""
    inputs, labels = (torch.tensor(array[:500]) for array in load_digits(return_X_y=True))
    inputs = (inputs.float() - 5) / 6
    return Problem(Split(inputs, labels.long()), Categorical(10), mlp([50], 10))


PROBLEMS: dict[str, tuple[str, Callable[[], Problem]]] = {
    "455 rows of 13, 50 units": ("mlp regression", lambda: fold(0)),
    "500 digits of 64, 50 units": ("mlp classification", digits),
}
"""Name → the problem of the contract tests that a method must cover, and this problem."""
DEVICES = (
    # Other processes of a busy machine do not lengthen CPU time, but a GPU's work has none.
    pytest.param("cpu", marks=pytest.mark.benchmark(timer=time.process_time)),
    pytest.param("cuda", marks=[pytest.mark.benchmark(timer=time.perf_counter), pytest.mark.gpu]),
)
CASES = [
    (name, problem)
    for name in METHODS
    for problem, (kind, _) in PROBLEMS.items()
    if name not in MISSING and kind in covered(name)
]
CLOCKS = {"cpu": time.process_time, "cuda": time.perf_counter}


@dataclass(frozen=True)
class Case:
    """A method and a problem on a device, after a first fit and prediction."""

    fit: Callable[[], object]
    predict: Callable[[], object]
    first_seconds: dict[str, float]
    rows: int


@lru_cache(maxsize=1)
def prepared(name: str, problem: str, device: str) -> Case:
    _, make = PROBLEMS[problem]
    given = make()
    given = Problem(given.train.to(device), given.likelihood, given.architecture)
    inputs = given.train.inputs.repeat(TEST_ROWS // len(given.train) + 1, 1)[:TEST_ROWS]
    method = small(method_type(METHODS[name])(), SETTINGS)
    posterior, fit_seconds = timed(lambda: method.fit(given, stream_on(1, device)), device)
    _, predict_seconds = timed(lambda: posterior.predict(inputs, stream_on(2, device)), device)
    return Case(
        lambda: synchronised(lambda: method.fit(given, stream_on(1, device)), device),
        lambda: synchronised(lambda: posterior.predict(inputs, stream_on(2, device)), device),
        {"fit": fit_seconds, "predict": predict_seconds},
        len(given.train),
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "problem"), CASES)
def test_seconds_of_a_method(name, problem, device, benchmark):
    measure(benchmark, name, problem, device, "fit")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "problem"), CASES)
def test_seconds_of_a_prediction(name, problem, device, benchmark):
    measure(benchmark, name, problem, device, "predict")


def measure(benchmark, name: str, problem: str, device: str, phase: str) -> None:
    """Time one phase of a case, and record what a page needs about it."""
    case = prepared(name, problem, device)
    work = case.fit if phase == "fit" else case.predict
    benchmark.pedantic(work, rounds=ROUNDS[phase])
    examples = case.rows if phase == "fit" else TEST_ROWS
    benchmark.extra_info |= {"method": name, "problem": problem, "phase": phase}
    benchmark.extra_info["clock"] = "CPU time" if device == "cpu" else "wall clock"
    benchmark.extra_info |= {"device": described(device), "examples": examples}
    if benchmark.enabled:
        warmup = max(0.0, case.first_seconds[phase] - benchmark.stats.stats.min)
        benchmark.extra_info["warmup_seconds"] = warmup


def timed(work: Callable[[], Any], device: str) -> tuple[Any, float]:
    """Return the result of the work, and its seconds by the device's clock."""
    start = CLOCKS[device]()
    found = synchronised(work, device)
    return found, CLOCKS[device]() - start


def synchronised(work: Callable[[], Any], device: str) -> Any:
    """Return the result of the work once the device has finished it."""
    found = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return found


def stream_on(seed: int, device: str) -> torch.Generator:
    """Return the generator of a seed on the device."""
    return torch.Generator(device).manual_seed(seed)


def described(device: str) -> str:
    """Return the device in words, such as "cuda (NVIDIA H200)"."""
    if device == "cuda":
        return f"cuda ({torch.cuda.get_device_name()})"
    threads = torch.get_num_threads()
    return f"cpu ({threads} thread{'s' * (threads > 1)})"
