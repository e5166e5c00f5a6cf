"""Runs without a readable record: left out by name, and counted; all others are carried out."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bnnbench.engine.store.inspection import inspect
from bnnbench.engine.store.store import Store
from tests.engine.records.test_round_trip import ODD
from tests.suites.commands import FAST, call
from tests.suites.fakes import Constant, Diverging, Mean


@dataclass(frozen=True)
class Tagged(Mean):
    tag: Any = ""


@dataclass(frozen=True)
class Reported:
    posterior: Constant
    diagnostics: Mapping[str, float]

    def predict(self, inputs, rng):
        return self.posterior.predict(inputs, rng)


@dataclass(frozen=True)
class Reporting:
    name: str
    value: float = 1.0
    times: int = 1

    def fit(self, problem, rng):
        return Reported(Mean().fit(problem, rng), {self.times * self.name: self.value})


@dataclass(frozen=True)
class Removing:
    runs: str

    def fit(self, problem, rng):
        shutil.rmtree(self.runs, ignore_errors=True)
        return Mean().fit(problem, rng)


def suite(**methods):
    return replace(FAST, methods={**methods, "Last": Mean()}, folds=1)


def sound(out) -> list[str]:
    """Return the methods of the store's completed runs, after checking that nothing is damaged."""
    inspection = inspect(Store(out / "miniature"))
    assert inspection.findings == ()
    records = Store(out / "miniature").records()
    return sorted(r.method for r in records if r.outcome.status == "completed")


@pytest.mark.parametrize("name", ODD)
def test_a_planned_run_that_cannot_be_stored_is_not_done_and_all_others_are(tmp_path, name):
    value, place = ODD[name]
    value = tuple(value) if isinstance(value, list) else value
    answer = call(tmp_path, suite=suite(Odd=Tagged(tag=value)))
    assert answer.code == 3
    assert "not done: Odd on line, 1 run" in answer.errors
    assert place in answer.errors
    assert "1 of 2 runs completed, 1 missing" in answer.output
    assert sound(tmp_path) == ["Last"]
    assert call(tmp_path, "--dry-run", suite=suite(Odd=Tagged(tag=value))).code == 3


def test_what_is_known_only_after_the_fit_is_the_failure_of_that_run(tmp_path):
    answer = call(tmp_path, suite=suite(Odd=Reporting("x", times=12_000)))
    assert answer.code == 3
    assert "failed: Odd on line, fold 0, seed 0: the run's record could not" in answer.output
    assert "diagnostics: its name is a text of 12,000 characters" in answer.output
    assert sound(tmp_path) == ["Last"]


def test_damaged_records_are_all_named_and_stop_no_other_run(tmp_path):
    call(tmp_path, "--folds", "2")
    places = sorted((tmp_path / "miniature" / "runs").iterdir())[:2]
    for place in places:
        (place / "record.json").write_text("{}")
    answer = call(tmp_path, "--folds", "2", "--seeds", "2")
    assert answer.code == 2
    assert all(f"damaged: {place}" in answer.errors for place in places)
    assert f"bnnbench store gc {tmp_path / 'miniature'}" in answer.errors
    assert "6 of 8 runs completed, 2 missing" in answer.output
    assert all((place / "record.json").read_text() == "{}" for place in places)


def test_runs_removed_meanwhile_are_missing(tmp_path):
    removing = Removing(str(tmp_path / "miniature" / "runs"))
    answer = call(tmp_path, suite=replace(FAST, methods={"First": Mean(), "R": removing}, folds=1))
    assert answer.code == 3
    assert "1 of 2 runs completed, 1 missing" in answer.output


def test_a_divergence_is_a_result(tmp_path):
    answer = call(tmp_path, suite=suite(D=Diverging()))
    assert answer.code == 0
    assert "diverged: D on line, fold 0, seed 0" in answer.output
    assert "1 of 2 runs completed, 1 diverged" in answer.output


@pytest.mark.parametrize(("value", "converged"), [(float("nan"), False), (0.0, False), (1.0, True)])
def test_nan_is_no_convergence(tmp_path, value, converged):
    call(tmp_path, suite=replace(FAST, methods={"M": Reporting("converged", value)}, folds=1))
    (record,) = Store(tmp_path / "miniature").records()
    assert record.outcome.unconverged is not converged
    assert record.outcome.diagnostics["converged"] == float(converged)
