"""The decision on treatments of a trained network: gain, cost, and never one of the evidence."""

import numpy as np
import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.judge.answers import answer
from bnnbench.reports.judge.treatments import chosen_by
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.suites.treatments import treatment_tables
from tests.records import changed
from tests.reports.synthetic import record

METHODS = {
    "As it is": {"type": "given"},
    "Temperature": {"type": "tempered", "method": {"type": "given"}},
    "Evidence": {"type": "laplace", "training": {"type": "given"}, "prior_precisions": []},
    "Laplace": {"type": "guarded", "method": {"type": "laplace", "prior_precisions": [1.0, 2.0]}},
}


def records(scores, seconds=None, calibration="", **changes):
    """Return runs on six folds, as if six networks had been trained."""
    return [
        record(
            label,
            dataset="mine",
            fold=fold,
            suite="posthoc",
            origin="own",
            scores={"clean": {"nll": float(value)}},
            run={
                "method": METHODS[label],
                "source": {"type": "trained_on", "path": "mine", "calibration": calibration},
            },
            cost=Cost(3.0, (seconds or {}).get(label, 1.0), 2.0**24),
            **changes,
        )
        for label, centre in scores.items()
        for fold, value in enumerate(centre + 0.01 * np.random.default_rng(0).normal(size=6))
    ]


def decision_on(values, seconds=None, **fields):
    """Return the decision on methods whose scores are these, one for each fold."""
    made = [
        changed(run, scores={"clean": {"nll": float(values[run.method][run.fold])}}, **fields)
        for run in records(dict.fromkeys(values, 0.0), seconds)
        if run.fold < len(values[run.method])
    ]
    (text,) = answer(benchmarks(made)).conclusions
    return text


def decision(*arguments, **options):
    (text,) = answer(benchmarks(records(*arguments, **options))).conclusions
    return text


def test_the_best_treatment_is_named_with_its_gain_and_its_costs():
    text = decision({"As it is": 2.0, "Temperature": 1.0, "Laplace": 1.5}, {"Temperature": 5.0})
    assert text.startswith("Take Temperature: NLL 1.0")
    assert "against 2.0" in text
    assert "of the given network, which is worse with six splits" in text
    assert "a fit of 3 s and predictions that take 5 times as long" in text


def test_the_evidence_is_named_only_if_nothing_chosen_by_other_rows_is_better():
    scores = {"As it is": 2.0, "Evidence": 1.001, "Temperature": 1.0}  # practically equal
    assert decision(scores, {"Temperature": 50.0}).startswith("Take Temperature")
    assert decision(scores | {"Evidence": 0.5}).startswith("Take Evidence")


def test_a_network_that_nothing_improves_is_left_as_it_is():
    text = decision({"As it is": 1.0, "Temperature": 1.5, "Laplace": 2.0})
    assert text == "Leave the network as it is: no treatment is better by NLL with six splits."


def test_where_nothing_is_tested_nothing_is_said_to_be_better_or_not():
    text = decision_on({"As it is": [1.0, 1.1], "Temperature": [0.9, 1.0]})
    assert "Temperature has the best mean, but nothing was tested" in text
    assert "no treatment is better" not in text


@pytest.mark.parametrize("leader", ["As it is", "Temperature"])
def test_what_the_splits_do_not_decide_is_named(leader):
    wide = np.random.default_rng(3).normal(size=6)
    values = {"As it is": wide, "Temperature": np.roll(wide, 3) + 0.01}
    values = values if leader == "As it is" else {k: -v for k, v in values.items()}
    text = decision_on(values)
    assert "Leave the network as it is until more is known: by NLL, " in text
    assert "cannot be told from it with six splits" in text


def test_a_network_practically_equal_to_the_best_is_left():
    near = 1 + 1e-4 * np.random.default_rng(0).normal(size=6)
    values = {"As it is": near + 0.002, "Temperature": near, "Laplace": near + 3}
    text = decision_on(values)
    assert text == (
        "Leave the network as it is: it is practically equal to the best, Temperature, by NLL with "
        "six splits."
    )


def test_no_treatment_is_taken_that_is_undecided_while_another_leads():
    noise = 0.01 * np.random.default_rng(0).normal(size=6)
    wide = np.array([2.9, -3.0, 2.8, -2.7, 2.95, -2.75])
    values = {"As it is": 2 + noise, "Temperature": 1 + noise[::-1], "Laplace": 1.9 + wide}
    made = decision_on(values, {"Temperature": 50.0})
    assert made.startswith("Take Temperature: NLL 1.0")
    assert "; Laplace cannot be told from the best" in made


@pytest.mark.parametrize("cost", [None, Cost(3.0, 0.0, 2.0**24)])
def test_unknown_costs_are_not_told(cost):
    noise = 0.01 * np.random.default_rng(0).normal(size=6)
    text = decision_on({"As it is": 2 + noise, "Temperature": 1 + noise}, cost=cost)
    assert text.startswith("Take Temperature")
    assert "times as long" not in text
    assert ("a fit of 3 s" in text) == (cost is not None)


def test_of_equally_good_treatments_the_one_that_predicts_fastest_is_named():
    scores = {"As it is": 2.0, "Temperature": 1.001, "Laplace": 1.0}
    assert decision(scores, {"Laplace": 50.0}).startswith("Take Temperature")
    assert decision(scores, {"Temperature": 50.0}).startswith("Take Laplace")


def test_what_was_chosen_by_rows_that_the_network_has_seen_is_marked():
    scores = {"As it is": 2.0, "Temperature": 1.0, "Evidence": 1.4}
    assert ", chosen by rows that the network has seen," in decision(scores, calibration="train")
    for calibration, mark in (("train", "training rows *"), ("", "calibration rows")):
        (benchmark,) = benchmarks(records(scores, calibration=calibration))
        assert chosen_by(benchmark, "Temperature") == mark
        assert chosen_by(benchmark, "Evidence") == "evidence"
        assert chosen_by(benchmark, "As it is") == ""


@pytest.mark.parametrize("untreated", [0.0, 1.0])
def test_the_table_begins_with_the_network_and_has_the_relative_cost(untreated):
    made = records(
        {"Laplace": 1.0, "As it is": 2.0}, {"Laplace": 8.0}, diagnostics={"untreated": untreated}
    )
    (benchmark,) = benchmarks(made)
    (table,) = treatment_tables(benchmark, [*benchmark.runs], compared=False)
    names = [column.name for column in table.columns]
    assert [row.method for row in table.rows] == ["As it is", "Laplace"]
    ratio = table.rows[1].cells[names.index("predict_ratio")]
    assert ratio.mean == pytest.approx(8.0)
    choice = table.rows[1].cells[names.index("chosen_by")]
    assert choice == ("left as it was" if untreated else "calibration rows")


def test_without_a_trained_network_there_is_no_such_table_or_sentence():
    made = [r for r in records({"As it is": 1.0, "Laplace": 2.0}) if r.method == "Laplace"]
    (benchmark,) = benchmarks(made)
    assert list(treatment_tables(benchmark, ["Laplace"])) == []
    assert answer([benchmark]).conclusions[0].startswith("For mine, by NLL")
