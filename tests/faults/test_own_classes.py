"""Third-party classes of predictions: asked in processes without targets, and not believed."""

import pytest

from bnnbench.metrics import REGRESSION
from tests.faults.own_classes import Telling
from tests.faults.test_data_server import (
    EXECUTORS,
    PLAIN,
    Clean,
    Evaluation,
    Task,
    record,
    replace,
    results,
)

pytestmark = pytest.mark.long


def told(kind, metrics=REGRESSION):
    run = replace(PLAIN, method=Telling(kind))
    return Task((run,), (Evaluation(Clean(), tuple(metrics)),))


@EXECUTORS
def test_a_class_scored_apart_has_the_scores_that_it_has_here(name):
    (apart,), (among,) = (results(name, told("Normal"), isolate=one) for one in (True, False))
    one, other = record(apart).outcome, record(among).outcome
    assert (one.status, other.status) == ("completed", "completed"), one.error or other.error
    assert one.scores == other.scores
    assert one.unanswered == other.unanswered
    assert apart[0].predictions == among[0].predictions


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Boastful", "its density has a mass of at least"),
        ("Unscaled", "its density has a mass of at least"),
        ("Raising", "ZeroDivisionError: its own error"),
    ],
)
def test_a_false_answer_fails_the_run_and_says_which(kind, said, isolate):
    (outcome,) = results("serial", told(kind), isolate=isolate)
    assert record(outcome).outcome.status == "failed"
    assert said in record(outcome).outcome.error


@pytest.mark.parametrize("isolate", [True, False])
def test_a_class_that_diverges_has_diverged(isolate):
    (outcome,) = results("serial", told("Diverging"), isolate=isolate)
    assert record(outcome).outcome.status == "diverged"
    assert "its spread has no bound" in record(outcome).outcome.error


def test_a_class_finds_no_targets_where_it_is_asked():
    apart, honest = results("serial", told("Peeping", ["rmse"]), told("Normal", ["rmse"]))
    assert record(apart).outcome.scores == record(honest).outcome.scores
    (among,) = results("serial", told("Peeping", ["rmse"]), isolate=False)
    assert "its mean is not that of its cdf" in record(among).outcome.error, "the class is blind"


def test_a_class_that_adapts_its_answers_is_refused():
    (outcome,) = results("serial", told("Remembering"))
    assert record(outcome).outcome.status == "failed"
    assert "gave two answers to one question" in record(outcome).outcome.error
