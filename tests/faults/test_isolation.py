"""Whatever a method does to its data or its process, later runs are unchanged."""

import gc
import os
import random
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.rotated import Rotated
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.guards.global_state import restored
from bnnbench.engine.run.task import Task
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.engine.run.test_execute import outcomes
from tests.suites.fakes import Mean


@dataclass(frozen=True)
class Intruder:
    """Changes its data or the process, as `deed` says."""

    deed: str = ""

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        WRITES.get(self.deed, lambda inputs: None)(problem.train.inputs)
        CHANGES.get(self.deed, lambda: None)()
        return Left(self.deed, problem.train.inputs)


@dataclass(frozen=True)
class Left:
    """The intruder's posterior."""

    deed: str
    train: torch.Tensor

    diagnostics: ClassVar = {}

    def predict(self, inputs, rng):
        if self.deed == "test inputs in predict":
            inputs.numpy()[:] = 0
        if self.deed == "training inputs in predict":
            self.train.numpy()[:] = 0
        mean = torch.randn(1, len(inputs), 1) if self.deed == "draws" else inputs[None, :, :1]
        return GaussianPredictive(mean, torch.ones_like(mean))


def scaled(inputs):
    values = inputs.numpy()
    values /= abs(values).max(0)


def swapped(inputs):
    values = inputs.numpy()
    values[[0, 1]] = values[[1, 0]]


WRITES = {
    "scales by NumPy": scaled,
    "zeroes .data": lambda inputs: inputs.data.zero_(),
    "swaps rows by NumPy": lambda inputs: inputs.numpy().__setitem__(
        [0, 1], inputs.numpy()[[1, 0]]
    ),
    "writes through storage": lambda inputs: inputs.untyped_storage().__setitem__(0, 7),
}


def scores(source):
    (outcome,) = outcomes(Mean(), source)
    return outcome.record.scores, outcome.record.fitted_sha256


@pytest.mark.parametrize("deed", [*WRITES, "test inputs in predict", "training inputs in predict"])
def test_who_writes_into_data_fails_and_the_next_run_is_as_without_it(deed):
    source = DiabetesAsUci()
    alone = scores(source)
    (outcome,) = outcomes(Intruder(deed), source)
    assert outcome.record.status == "failed"
    assert "changed the data it was given" in outcome.record.error
    assert scores(source) == alone


def test_the_record_knows_the_rows_that_were_fitted():
    (outcome,) = outcomes(Intruder(), DiabetesAsUci())
    clean = outcome.record.fitted_sha256
    (outcome,) = outcomes(Intruder("scales by NumPy"), DiabetesAsUci())
    assert outcome.record.fitted_sha256 == clean
    (other,) = outcomes(Intruder(), DiabetesAsUci(), folds=(1,))
    assert other.record.fitted_sha256 != clean


@dataclass(frozen=True)
class Eraser:
    """A classifier whose first seed erases the inputs of one condition for all others."""

    diagnostics: ClassVar = {}
    harmful: bool = True

    def fit(self, problem, rng):
        return replace(self, harmful=rng.initial_seed() in SEEDS)

    def predict(self, inputs, rng):
        probabilities = inputs.flatten(1)[:, :10].abs() + 1
        if self.harmful:
            inputs.numpy()[:] = 0
        return CategoricalPredictive(
            (probabilities / probabilities.sum(1, keepdim=True)).log()[None]
        )


SEEDS: set[int] = set()


@pytest.mark.parametrize("condition", [Clean(), Rotated(30)], ids=["clean", "rotated"])
def test_seeds_that_share_a_split_are_not_harmed_by_the_first(condition, monkeypatch):
    first, second = outcomes_of(condition, ())
    harmed, unharmed = outcomes_of(condition, (0,))
    assert (harmed.status, unharmed.status) == ("failed", "completed")
    assert unharmed.scores == second.scores
    assert first.status == "completed"


def outcomes_of(condition, harmful):
    """Return the records of two seeds that are carried out as one task."""
    case = Case(DigitsAsMnist(), mlp([4], 10))
    runs = [Run("faults", "quick", "Eraser", case, Eraser(), 0, seed) for seed in (0, 1)]
    SEEDS.clear()
    SEEDS.update(stream("fit", case.source, 0, seed).initial_seed() for seed in harmful)
    found = execute(Task(tuple(runs), (Evaluation(condition, ("accuracy", "nll")),)))
    return [outcome.record for outcome in found]


def handler(number, frame):
    raise AssertionError("a method's handler")


CHANGES = {
    "turns gradients off": lambda: torch.set_grad_enabled(False),
    "chooses float64": lambda: torch.set_default_dtype(torch.float64),
    "chooses a device": lambda: torch.set_default_device("meta"),
    "takes three threads": lambda: torch.set_num_threads(3),
    "asks for determinism": lambda: torch.use_deterministic_algorithms(True),
    "raises on overflow": lambda: np.seterr(all="raise"),
    "sets a variable": lambda: os.environ.update(BNNBENCH_DATA="/nowhere", LANG="xx"),
    "unsets a variable": lambda: os.environ.pop("PATH"),
    "goes elsewhere": lambda: os.chdir("/"),
    "handles signals": lambda: signal.signal(signal.SIGTERM, handler),
    "hides warnings": lambda: warnings.simplefilter("ignore"),
    "changes the path": lambda: sys.path.insert(0, "/nowhere"),
    "limits recursion": lambda: sys.setrecursionlimit(500),
    "stops collecting": gc.disable,
    "seeds torch": lambda: torch.manual_seed(1),
    "replaces stdout": lambda: setattr(sys, "stdout", None),
}


def state():
    """Return everything that a method may have changed."""
    return {
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": torch.empty(0).device,
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "errors": np.geterr(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "term": signal.getsignal(signal.SIGTERM),
        "filters": list(warnings.filters),
        "path": list(sys.path),
        "recursion": sys.getrecursionlimit(),
        "gc": gc.isenabled(),
        "torch": torch.get_rng_state().tolist(),
        "stdout": sys.stdout,
    }


@pytest.mark.parametrize("deed", CHANGES)
def test_the_process_is_restored_after_a_run(deed):
    before = state()
    (outcome,) = outcomes(Intruder(deed), DiabetesAsUci())
    # A method that moves all new tensors to a device without contents cannot be scored.
    expected = "failed" if deed == "chooses a device" else "completed"
    assert outcome.record.status == expected, outcome.record.error
    assert state() == before


def test_random_states_are_restored_and_the_same_for_every_run():
    def states():
        return random.getstate(), repr(np.random.get_state())  # noqa: NPY002 (global on purpose)

    before, drawn = states(), []
    for _ in range(2):
        with restored(seed=7):
            drawn.append((random.random(), np.random.rand(), float(torch.rand(1))))  # noqa: NPY002
            random.seed(1)
        random.seed(len(drawn))
        random.setstate(before[0])
        assert states() == before
    assert drawn[0] == drawn[1]


def test_the_record_names_what_was_restored():
    (outcome,) = outcomes(Intruder("chooses float64"), DiabetesAsUci())
    assert outcome.record.provenance["process_state_restored"] == ["default dtype"]
    (outcome,) = outcomes(Intruder(), DiabetesAsUci())
    assert "process_state_restored" not in outcome.record.provenance


def test_global_draws_do_not_depend_on_earlier_runs():
    (first,) = outcomes(Intruder("draws"), DiabetesAsUci())
    torch.rand(17)
    (second,) = outcomes(Intruder("draws"), DiabetesAsUci())
    assert first.record.scores == second.record.scores


CLOSES = """
import os, sys
from bnnbench.engine.run.guards.global_state import restored
with restored(0) as changed:
    {deed}
print("still here", changed)
"""


ELSEWHERE = "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)"


@pytest.mark.long
@pytest.mark.parametrize(
    "deed", ["sys.stdout.close()", "os.close(1)", "sys.stdout = None", ELSEWHERE]
)
def test_standard_streams_are_opened_again(deed):
    command = [sys.executable, "-c", CLOSES.format(deed=deed)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stdout == "still here ['standard streams']\n", answer.stderr
