"""Compiling and warming up are no part of a fit's time."""

import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run import fitting
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.measuring import fits, warming
from bnnbench.engine.run.task import Task
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.fitting import progress
from bnnbench.methods.networks.architectures import Linear, ReLU
from tests.suites.fakes import Coins, Line, Mean, Together

CALLS: list[str] = []


@dataclass(frozen=True)
class Warm(Mean):
    """A method that notes what is asked of it."""

    number: int = 0

    def warm_up(self, problem):
        CALLS.append("warm up")

    def fit(self, problem, rng):
        CALLS.append("fit")
        return super().fit(problem, rng)


@dataclass(frozen=True)
class Refuses(Mean):
    """A method whose kernels cannot be compiled."""

    refusal: ClassVar = Unsupported("needed another network")

    def warm_up(self, problem):
        raise self.refusal


@pytest.fixture(autouse=True)
def cold(monkeypatch):
    """A process that has compiled nothing."""
    monkeypatch.setattr(warming, "_warm", set())
    CALLS.clear()


def outcome(method, source=None, seed=0):
    run = Run("miniature", "quick", "label", Case(source or Line(), ()), method, fold=0, seed=seed)
    (found,) = execute(Task((run,), (Evaluation(Clean(), ("log_likelihood",)),)))
    return found.record


def test_kernels_are_compiled_before_the_fits_clock_starts(monkeypatch):
    started = fits.stopwatch

    def noted(device):
        CALLS.append("clock")
        return started(device)

    monkeypatch.setattr(fits, "stopwatch", noted)
    record = outcome(Warm())
    assert CALLS[:3] == ["warm up", "clock", "fit"]
    assert record.cost.compile_seconds > 0


def test_a_process_compiles_once_for_each_method_and_kind_of_problem():
    assert outcome(Warm()).cost.compile_seconds > 0
    assert outcome(Warm(), seed=1).cost.compile_seconds == 0
    assert CALLS.count("warm up") == 1
    outcome(Warm(number=1))
    assert CALLS.count("warm up") == 2
    outcome(Warm(), Coins())
    assert CALLS.count("warm up") == 3


def test_a_method_that_compiles_nothing_costs_no_seconds_of_compiling():
    assert outcome(Mean()).cost.compile_seconds == 0


def test_what_fails_while_compiling_is_left_to_the_fit():
    assert outcome(Refuses()).outcome.status == "completed"


def test_compiling_changes_no_score():
    assert outcome(Warm()).outcome.scores == outcome(Mean()).outcome.scores


def test_runs_that_are_fitted_together_share_the_seconds(monkeypatch):
    monkeypatch.setattr(fitting, "warm_up", lambda loaded, device: (6.0, {}))
    run = Run("miniature", "quick", "label", Case(Line(), ()), Together(), fold=0, seed=0)
    runs = tuple(replace(run, seed=seed) for seed in range(3))
    found = execute(Task(runs, (Evaluation(Clean(), ("rmse",)),)))
    assert [one.record.cost.compile_seconds for one in found] == [2.0, 2.0, 2.0]


class Counted(AdamW):
    """A method of this project, as far as `is_third_party` can see, that counts its fits."""

    def fit_many(self, problems, rngs):
        CALLS.append(f"fit of {len(problems[0].train)} rows")
        return super().fit_many(problems, rngs)


@pytest.fixture
def ours(monkeypatch):
    monkeypatch.setattr(warming, "is_third_party", lambda method: False)
    monkeypatch.setattr(Task, "has_third_party_code", False)


NETWORK = (Linear(5), ReLU(), Linear(1))


def trained(rows, seed=0):
    case = Case(Line(rows=rows), NETWORK)
    run = Run("miniature", "quick", "label", case, Counted(epochs=6), fold=0, seed=seed)
    (found,) = execute(Task((run,), (Evaluation(Clean(), ("log_likelihood",)),)))
    return found.record


@pytest.mark.usefixtures("ours")
def test_a_first_epoch_on_few_rows_comes_before_the_clock(monkeypatch):
    monkeypatch.setattr(warming, "FEW_ROWS", 16)
    epochs = []
    report = progress.report
    monkeypatch.setattr(progress, "report", lambda *r: [epochs.append(r[0]), report(*r)])
    warm = trained(24)
    assert ["fit of 16 rows", f"fit of {warm.circumstances.facts['train_rows']} rows"] == CALLS
    assert epochs == [1, 1, 2, 3, 4, 5, 6]
    assert warm.cost.compile_seconds > 0
    assert trained(24, seed=1).cost.compile_seconds == 0
    assert len(CALLS) == 3


@pytest.mark.usefixtures("ours")
def test_it_changes_no_number(monkeypatch):
    warm = trained(24)
    monkeypatch.setattr(warming, "_begin", lambda method, problem: None)
    monkeypatch.setattr(warming, "_warm", set())
    cold = trained(24)
    assert warm.outcome.scores == cold.outcome.scores
    assert len(CALLS) == 3


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("error", [ValueError("odd"), InferenceDiverged("nan"), Warning("hot")])
def test_an_error_in_it_is_left_to_the_fit(monkeypatch, error):
    raised = []

    def fit(self, problem, rng):
        raised.append(error)
        warnings.warn("loud", stacklevel=1)
        raise error

    monkeypatch.setattr(Counted, "fit", fit)
    assert trained(24).outcome.status == "completed"  # by fit_many
    assert raised == [error]


def test_a_strangers_method_is_fitted_once():
    assert outcome(Warm()).outcome.status == "completed"
    assert CALLS.count("fit") == 1


SCRIPT = """
import json
from dataclasses import dataclass

from numba.core import event

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.pbp.method import Pbp
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.execute import Task, execute
from tests.suites.fakes import Line

compiled = event.RecordingListener()
event.register("numba:compile", compiled)
counts = []


class Watched(Pbp):
    def fit_many(self, problems, rngs):
        if self.epochs > 1:  # not the short fit that compiles
            counts.append(len(compiled.buffer))
        fitted = super().fit_many(problems, rngs)
        if self.epochs > 1:
            counts.append(len(compiled.buffer))
        return fitted


network = (Linear(8), ReLU(), Linear(1))
run = Run("miniature", "quick", "PBP", Case(Line(), network), Watched(epochs=2), fold=0, seed=0)
(one,) = execute(Task((run,), (Evaluation(Clean(), ("rmse",)),)))
assert one.record.outcome.status == "completed", one.record.outcome.error
print(json.dumps(counts[-2:]))
"""


@pytest.mark.long
def test_pbp_compiles_nothing_while_its_fit_is_timed(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}

    def counts():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    before, after = counts()
    assert before == after > 0
    assert counts() == [0, 0]  # kept for the next process
