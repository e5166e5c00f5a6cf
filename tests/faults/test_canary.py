"""A third-party method that replaces shared functions fails, and no other run uses its process.

The deeds reach functions and tables that no list of settings contains.
"""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run.guards import canary
from bnnbench.engine.run.task import Task
from bnnbench.metrics import METRICS
from tests.faults.test_data_server import EXECUTORS, PLAIN, record, results, task
from tests.suites.fakes import Mean

pytestmark = pytest.mark.long


DEEDS = pytest.mark.parametrize("deed", ["replace exp", "replace a metric", "replace a product"])


@pytest.fixture(autouse=True)
def this_process_stays_as_it_is(monkeypatch):
    """Undo the effects of a deed on the test process, in which the serial executor works."""
    canary.expected()
    monkeypatch.setattr(canary._Process, "changed", False)
    monkeypatch.setattr(torch, "exp", torch.exp)
    monkeypatch.setattr(torch.Tensor, "__matmul__", torch.Tensor.__matmul__)
    monkeypatch.setitem(METRICS, "rmse", METRICS["rmse"])


def own():
    """Return a task of a method that shares its process with others."""
    runs = (replace(PLAIN, label="Mean", method=Mean(), seed=1),)
    return Task(runs, (Evaluation(Clean(), ("rmse", "crps")),))


@EXECUTORS
@DEEDS
@pytest.mark.parametrize("isolate", [True, False], ids=["apart", "among"])
def test_who_replaces_what_others_use_fails_and_the_next_run_is_as_without_it(name, deed, isolate):
    (alone,) = results(name, own(), isolate=isolate)
    changed, after = results(name, task(deed), own(), isolate=isolate)
    assert record(changed).outcome.status == "failed"
    assert "a small fit of AdamW gives other numbers" in record(changed).outcome.error
    assert record(after).outcome.status == "completed", record(after).outcome.error
    assert record(after).outcome.scores == record(alone).outcome.scores
    assert after[0].predictions == alone[0].predictions


def test_a_harmless_method_leaves_the_process_in_use():
    sound, after = results("serial", task(), own(), isolate=False)
    assert {record(sound).outcome.status, record(after).outcome.status} == {"completed"}
    assert not canary.has_process_changed()


@EXECUTORS
def test_records_say_that_third_party_methods_shared_the_process(name):
    for isolate in (True, False):
        for result in results(name, task(), own(), isolate=isolate):
            said = record(result).circumstances.provenance.get("in_process", False)
            assert said is not isolate


@pytest.mark.parametrize("deed", ["replace exp", "replace a metric"])
def test_without_the_known_fit_the_next_run_would_be_another(deed, monkeypatch):
    """The deeds matter: with the check switched off, a shared process gives other scores."""
    (alone,) = results("serial", own(), isolate=False)
    monkeypatch.setattr(canary, "check_process", lambda: True)
    _, after = results("serial", task(deed), own(), isolate=False)
    assert record(after).outcome.scores != record(alone).outcome.scores


def test_an_error_of_the_method_itself_stays_the_reason():
    (crashed,) = results("processes", task("replace and raise"), isolate=False)
    assert record(crashed).outcome.status == "failed"
    assert "its own error" in record(crashed).outcome.error
