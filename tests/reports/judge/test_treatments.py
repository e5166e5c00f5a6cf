"""The decision on treatments of a trained network: gain, cost, and never one of the evidence."""

import numpy as np
import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.judge.answers import answer
from bnnbench.reports.judge.treatments import chosen_by
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.suites.treatments import treatment_tables
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


def decision(*arguments, **options):
    (text,) = answer(benchmarks(records(*arguments, **options))).conclusions
    return text


def test_the_best_treatment_is_named_with_its_gain_and_its_costs():
    text = decision({"As it is": 2.0, "Temperature": 1.0, "Laplace": 1.5}, {"Temperature": 5.0})
    assert text.startswith("Take Temperature: NLL 1.0")
    assert "against 2.0" in text
    assert "a fit of 3 s and predictions that take 5 times as long" in text


def test_the_evidence_is_named_only_if_nothing_chosen_by_other_rows_is_better():
    scores = {"As it is": 2.0, "Evidence": 1.001, "Temperature": 1.0}  # practically equal
    assert decision(scores, {"Temperature": 50.0}).startswith("Take Temperature")
    assert decision(scores | {"Evidence": 0.5}).startswith("Take Evidence")


def test_a_network_that_nothing_improves_is_left_as_it_is():
    text = decision({"As it is": 1.0, "Temperature": 1.5, "Laplace": 2.0})
    assert text == "Leave the network as it is: no treatment is better by NLL."


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
