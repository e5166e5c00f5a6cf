"""Answers over many tables, from artificial runs of the suite of tables."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.league_data import leagues_data
from bnnbench.reports.pages.site.leagues import league_of, sets_run
from bnnbench.reports.pages.site.notes import firsts_by_cost, firsts_by_score, notes
from bnnbench.reports.pages.site.site import tasks_of
from bnnbench.reports.pages.site.worth import worth_of
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record

LEVEL = {"AdamW": 0.5, "Ensemble": 0.8, "SWAG": 0.3, "PBP": 0.6, "Training mean": 0.0}
SECONDS = {"AdamW": 1.0, "Ensemble": 8.0, "SWAG": 2.0, "PBP": 2.5, "Training mean": 0.1}
RMSE = {"AdamW": 3.0, "Ensemble": 2.0, "SWAG": 1.0, "PBP": 4.0, "Training mean": 9.0}


def runs(sets=9, but=()):
    """Return runs on tables, without the method and table of each pair in `but`."""
    rng = np.random.default_rng(0)
    return [
        record(
            method,
            f"table{g}",
            fold,
            suite="tables",
            profile="regression",
            scores={
                "clean": {
                    "log_likelihood": level + 0.1 * rng.normal(),
                    **dict.fromkeys(("rmse", "crps", "interval_score_90"), RMSE[method]),
                    "calibration_mae": 0.1,
                }
            },
            diagnostics={"ignores_inputs": 1.0} if method == "Training mean" else {},
            cost=Cost(SECONDS[method], 0.1, 1.0, fit_cpu_seconds=SECONDS[method]),
            facts={"train_rows": 100 + 10 * g, "features": 3 + g % 2, "test_rows": 10},
            target={"name": "y", "unit": "", "mean": 0.0, "std": 1.0},
        )
        for g in range(sets)
        for method, level in LEVEL.items()
        if (method, g) not in but
        for fold in range(3)
    ]


def task_of(records):
    (task,) = tasks_of({"tables": benchmarks(records)})
    return task


@pytest.fixture(scope="module")
def task():
    return task_of(runs())


def test_the_suite_of_tables_is_answered_over_data_sets(task):
    answer = answer_to(task, "likelihood")
    assert answer.headline == "Use Ensemble: it is best over tables like these."
    assert (answer.grade, answer.methods, answer.worse) == ("best", 4, 3)
    assert answer.text.endswith(f"9 data sets, list {answer.verdict.league.checksum}.")
    assert answer.on_these.headline.startswith("Use Ensemble")


def test_tables_timed_on_another_processor_than_most_leave_the_costs_as_they_are(task):
    moved = [
        replace(r, cost=Cost(99.0, 0.1, 1.0, fit_cpu_seconds=99.0)).with_circumstances(
            provenance={**r.circumstances.provenance, "cpu": "another"}
        )
        if r.dataset == "table8"
        else r
        for r in runs()
    ]
    answer = answer_to(task_of(moved), "likelihood")
    assert firsts_by_cost(answer) == firsts_by_cost(answer_to(task, "likelihood"))
    assert {p.method: p.seconds for p in answer.verdict.places} == {
        name: SECONDS[name] for name in SECONDS if name != "Training mean"
    }
    told = "Times are without table8, timed on another device than most."
    assert told in answer.text
    assert "Times are without" not in answer_to(task, "likelihood").text


def test_the_first_within_each_cost_is_the_first_that_is_affordable(task):
    firsts = firsts_by_cost(answer_to(task, "likelihood"))
    assert firsts == {1: "AdamW", 3: "PBP", 10: "Ensemble", 30: "Ensemble"}


def test_other_scores_have_their_own_first_with_its_grade(task):
    answer = answer_to(task, "likelihood")
    assert firsts_by_score(answer) == dict.fromkeys(
        ("RMSE", "CRPS", *(s.title for s in task.beside[1:])), ("SWAG", "best")
    )
    assert len(task.beside) == 2
    assert "First by other scores: by RMSE" in " ".join(notes(answer))


def test_calibration_has_no_decision_over_data_sets(task):
    assert league_of(task, "calibration") is None
    assert answer_to(task, "calibration").verdict is None


def test_a_budget_leaves_slower_methods_out_of_the_league(task):
    assert set(league_of(task, "likelihood", 3).methods) == {"AdamW", "SWAG", "PBP"}


def test_a_method_that_lacks_a_table_is_counted_and_not_compared():
    task = task_of(runs(but={("PBP", 3)}))
    assert "PBP" not in league_of(task, "likelihood").methods
    assert sets_run(task, "likelihood") == {"PBP": 8}


def test_tables_cut_from_the_same_rows_have_no_decision_over_data_sets(task):
    same = [replace(column, source="whole") for column in task.columns]
    assert league_of(replace(task, columns=tuple(same)), "likelihood") is None


def test_regret_of_the_best_is_nothing_and_of_others_the_share_behind(task):
    league, worth = league_of(task, "likelihood"), worth_of(task, "likelihood")
    u = dict(zip(league.methods, league.shares.u, strict=True))
    by_name = {outcome.name: outcome.regret.value for outcome in worth.outcomes}
    assert by_name["the board's first"] == pytest.approx(np.mean(1 - u["Ensemble"]))
    assert by_name["always AdamW"] == pytest.approx(np.mean(1 - u["AdamW"]))


def test_the_page_has_the_answers_within_every_cost(task):
    data = leagues_data([task])
    answers = data["answers"][task.name]
    assert set(answers["likelihood"]) == {"", "3", "10", "30"}  # within 1 there is AdamW alone
    assert len(data["worth"][task.name]["likelihood"][""]["rows"]) >= 4
    assert json.loads(json.dumps(data, allow_nan=False))["notes"][task.name]["likelihood"]
