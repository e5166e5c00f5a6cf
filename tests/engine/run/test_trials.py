"""Searches in records: trials, their test scores, and reproducible choices."""

import json

import numpy as np
import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.rescoring.false_scores import false_scores
from bnnbench.engine.store.store import Store
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.search import Search
from tests.methods.tuning.fakes import Parabola
from tests.records import changed
from tests.suites.fakes import Line, Mean

EVALUATIONS = (Evaluation(Clean(), ("rmse", "log_likelihood", "crps")),)


def executed(method, seeds=1):
    runs = tuple(
        Run("miniature", "quick", "label", Case(Line(), ()), method, fold=0, seed=seed)
        for seed in range(seeds)
    )
    return execute(Task(runs, EVALUATIONS))


@pytest.fixture(scope="module")
def outcomes():
    return executed(Tuned(Parabola(), trials=8), seeds=2)


def test_the_record_holds_the_search_and_the_test_scores_of_all_trials(outcomes):
    first, second = (outcome.record for outcome in outcomes)
    assert first.outcome.status == "completed", first.outcome.error
    search = Search.from_data(first.outcome.search)
    assert len(search.settings) == 8
    assert first.outcome.search == second.outcome.search
    scores = first.outcome.trial_scores
    assert scores.keys() == {str(trial) for trial in range(8)}
    assert all(one.keys() == {"rmse", "log_likelihood"} for one in scores.values())
    chosen = scores[str(int(first.outcome.diagnostics["chosen_trial"]))]
    for metric, value in chosen.items():
        assert value == pytest.approx(first.outcome.scores["clean"][metric], rel=1e-6)


def test_a_trial_that_diverges_in_predicting_costs_the_run_its_score_alone():
    ((outcome),) = executed(Tuned(Parabola(falls_above=0.2), trials=8))
    record = outcome.record
    assert record.outcome.status == "completed", record.outcome.error
    rates = [setting["rate"] for setting in Search.from_data(record.outcome.search).settings]
    sound = {str(trial) for trial, rate in enumerate(rates) if rate <= 0.2}
    assert record.outcome.trial_scores.keys() == sound
    assert 0 < len(sound) < 8


def test_other_methods_have_none():
    ((outcome),) = executed(Mean())
    assert outcome.record.outcome.search is None
    assert outcome.record.outcome.trial_scores == {}


def test_a_record_with_a_search_survives_its_file(outcomes):
    record = outcomes[0].record
    again = from_json(to_json(record))
    assert again.outcome.search == json.loads(json.dumps(record.outcome.search))
    assert again.outcome.trial_scores == record.outcome.trial_scores
    assert np.array_equal(
        Search.from_data(again.outcome.search).scores,
        Search.from_data(record.outcome.search).scores,
    )


def test_a_changed_cell_or_choice_is_found(outcomes, tmp_path):
    store, outcome = Store(tmp_path), outcomes[0]
    record = store.write(outcome.record, outcome.predictions)
    assert false_scores(store, record) == []
    better = json.loads(json.dumps(record.outcome.search))
    for block in better["log_likelihood"]:
        block[-1] = [5.0] * len(block[-1])
    tampered = changed(record, search=better)
    assert "its search chooses trial 0" in " ".join(false_scores(store, tampered))
    diagnostics = {**record.outcome.diagnostics, "chosen_rate": 3.0}
    moved = changed(record, diagnostics=diagnostics)
    assert "its rate is not that of trial" in " ".join(false_scores(store, moved))
    broken = changed(record, search={"settings": []})
    assert "its search cannot be read" in " ".join(false_scores(store, broken))
