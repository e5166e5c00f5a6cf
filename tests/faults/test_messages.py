"""Messages, questions and replaced functions of a method harm only its own run."""

import pytest

from bnnbench.engine.workers.base import Lost
from tests.faults.test_data_server import EXECUTORS, record, results, task

pytestmark = pytest.mark.long


@EXECUTORS
@pytest.mark.parametrize(
    "deed", ["send a pickle", "send progress", "send an error", "send results", "ask for targets"]
)
def test_who_sends_messages_of_its_own_loses_its_run_alone(name, deed, tmp_path):
    alone, lost, after = results(name, task(fold=1), task(deed, tmp_path / "opened"), task(fold=2))
    assert isinstance(lost, Lost)
    assert "and was stopped" in lost.reason or "outside the method's functions" in lost.reason
    assert not (tmp_path / "opened").exists()
    assert record(alone).outcome.status == record(after).outcome.status == "completed"


def test_no_test_target_is_in_memory_while_a_third_party_method_predicts():
    apart, among = results("serial", task("search"), task())
    assert record(apart).outcome.status == "completed", record(apart).outcome.error
    assert record(apart).outcome.scores == record(among).outcome.scores
    (cheat,) = results("serial", task("search"), isolate=False)
    assert record(cheat).outcome.scores["clean"]["rmse"] == 0, "the search is blind"


def test_who_replaces_the_functions_that_score_gains_nothing():
    (found, honest) = results("serial", task("replace scoring"), task())
    scores = record(found).outcome.scores
    assert record(found).outcome.status == "failed" or scores == record(honest).outcome.scores
