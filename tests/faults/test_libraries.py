"""Runs of methods that belong to an environment: their records, their limits, their labels."""

import json
import sys
from dataclasses import dataclass, replace

import pytest

from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Limits
from bnnbench.engine.workers.base import Lost
from bnnbench.methods import environments
from bnnbench.methods.fitting import children
from tests.engine.store.test_faults import gone
from tests.faults.test_data_server import EVALUATIONS, EXECUTORS, PLAIN, record, results
from tests.methods.libraries.fake import LIBRARY, Fake
from tests.suites.commands import call, rows
from tests.suites.fakes import Mean

pytestmark = pytest.mark.long


TICKS = 0.04
"""Seconds: the system counts user and system time of another process in hundredths, twice."""


@pytest.fixture(autouse=True)
def given(monkeypatch):
    monkeypatch.setenv(environments.VARIABLE, f"{LIBRARY}={sys.executable}")


def of(deed: str = "", argument: str = ""):
    return Task((replace(PLAIN, method=Fake(deed, argument)),), EVALUATIONS)


@EXECUTORS
def test_a_record_names_the_environment_and_counts_what_its_process_took(name):
    (found,) = results(name, of("spend", "0.4"))
    kept = record(found)
    assert kept.status == "completed", kept.error
    there = kept.provenance["environments"][LIBRARY]
    assert there["interpreter"] == sys.executable
    assert there["packages"].keys() == {"numpy"}
    assert kept.cost.compile_seconds > 0.05
    assert kept.cost.fit_seconds >= 0.4
    assert kept.cost.fit_cpu_seconds >= 0.4 - TICKS
    assert kept.cost.work == {"likelihood_rows": kept.facts["train_rows"]}
    assert json.dumps(kept.provenance["environments"])


@dataclass(frozen=True)
class Starting(Mean):
    """Reports that its process took 100 seconds to start, 50 of them of a processor."""

    def fit(self, problem, rng):
        children.started(100.0, 50.0)
        return super().fit(problem, rng)


def test_the_start_of_a_process_is_charged_apart_from_the_fit():
    (found,) = execute(Task((replace(PLAIN, method=Starting()),), EVALUATIONS))
    cost = record([found]).cost
    assert cost.compile_seconds >= 100
    assert cost.fit_seconds < -90
    assert cost.fit_cpu_seconds < -40


@EXECUTORS
def test_memory_of_the_process_is_the_fits(name):
    (found,) = results(name, of("hold", "64"))
    assert record(found).cost.peak_bytes >= 64 * 2**20


@EXECUTORS
def test_equal_runs_are_equal_to_the_last_bit(name):
    (first,), (second,) = results(name, of()), results(name, of())
    assert first[0].predictions == second[0].predictions


@EXECUTORS
def test_a_library_that_crashes_fails_only_its_run(name):
    crashed, sound = results(name, of("crash"), of("exit")), results(name, of())
    for found in crashed:
        assert record(found).status == "failed"
        assert "fake-library: the process of" in record(found).error
    assert record(sound[0]).status == "completed"


def test_after_a_timeout_the_library_and_what_it_started_are_gone(tmp_path):
    file = tmp_path / "pids"
    (late,) = results("processes", of("linger", str(file)), limits=Limits(seconds=8.0))
    assert late == Lost("ran longer than 8 s")
    started = [int(pid) for pid in file.read_text().split()]
    assert len(started) == 2
    gone(started)


def test_a_fit_sees_no_test_row():
    """The process gets training rows; the method has no others to send."""
    (found,) = results("processes", of())
    assert record(found).diagnostics["rows"] == record(found).facts["train_rows"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("sklearn_ridge", "scikit-learn: Bayesian ridge"),
        ("sklearn_forest(trees=5)", "scikit-learn: random forest (trees=5)"),
        ("tests.methods.libraries.fake:Fake", "fake-library: mean"),
    ],
)
def test_a_row_is_labelled_library_and_method(tmp_path, name, label):
    flags = "--env", f"{LIBRARY}={sys.executable}", "--methods", name, "--folds", "1"
    answer = call(tmp_path, *flags)
    assert answer.code == 0, answer.errors
    assert {row["method"] for row in rows(tmp_path)} == {label}
