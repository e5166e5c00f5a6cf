"""The decision over the data sets of a suite, in its answer, its report and its headlines."""

import re

import numpy as np
import pytest

from bnnbench.commands.reporting.rivals import standing_of
from bnnbench.reports.judge.answers import answer
from bnnbench.reports.judge.measures import judged
from bnnbench.reports.judge.over_sets.results import verdict_on, worth_on
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record

LEVEL = {"AdamW": 1.0, "Ensemble": 0.6, "SGD": 1.6, "Constant": 2.0}


def suite_of(sets, failed=(), cut=False):
    """Return runs on data sets with three folds, in which the ensemble has the lowest NLL."""
    rng = np.random.default_rng(0)
    return [
        record(
            method,
            f"table{g}",
            fold,
            status="failed" if (method, g, fold) in failed else "completed",
            suite="tables",
            scores={"clean": {"nll": level + 0.1 * rng.normal()}},
            diagnostics={"ignores_inputs": 1.0} if method == "Constant" else {},
            facts={"train_rows": 100 + g, "features": 3, "test_rows": 10},
            run={"source": {"type": "cut", "source": {"name": "whole"}} if cut else {"name": g}},
        )
        for g in range(sets)
        for method, level in LEVEL.items()
        for fold in range(3)
    ]


def results_of(records):
    return [judged(benchmark, "nll") for benchmark in benchmarks(records)]


def test_the_answer_of_a_suite_has_the_grade_over_its_data_sets():
    found = answer(benchmarks(suite_of(8)))
    text = "Ensemble is best over tables like these: all 2 others are worse"
    assert text in found.best
    assert found.line == f"By NLL, {text}."


def test_seven_data_sets_or_sets_of_the_same_rows_have_no_decision_over_sets():
    assert verdict_on(results_of(suite_of(7))) is None
    assert verdict_on(results_of(suite_of(8, cut=True))) is None


def test_a_failed_fit_counts_as_minus_the_gap_of_the_methods_that_finished():
    failed = {("Ensemble", 0, 1)}
    found = verdict_on(results_of(suite_of(8, failed=failed)))
    runs = [r for r in suite_of(8) if r.dataset == "table0"]
    value = {(r.method, r.fold): -r.outcome.scores["clean"]["nll"] for r in runs}
    gain = {pair: v - value["Constant", pair[1]] for pair, v in value.items()}
    gap = np.mean([gain["AdamW", fold] for fold in range(3)])
    expected = (gain["Ensemble", 0] - gap + gain["Ensemble", 2]) / 3 / gap
    m = found.league.methods.index("Ensemble")
    assert found.league.shares.u[m, 0] == pytest.approx(expected)


def test_shares_are_those_of_means_over_folds():
    found = verdict_on(results_of(suite_of(9)))
    (first, *_) = benchmarks(suite_of(9))
    mean = {
        m: np.mean([-r.outcome.scores["clean"]["nll"] for r in of]) for m, of in first.runs.items()
    }
    gap = mean["Ensemble"] - mean["Constant"]
    expected = {m: (mean[m] - mean["Constant"]) / gap for m in found.league.methods}
    column = dict(zip(found.league.methods, found.league.shares.u[:, 0], strict=True))
    assert column == pytest.approx(expected)


def test_without_searches_there_is_no_shortlist():
    results = results_of(suite_of(8))
    names = [of.name for of in worth_on(results, verdict_on(results).league).outcomes]
    assert names == ["the board's first", "always AdamW", "always the ensemble",
                     "first by mean score"]  # fmt: skip


def test_a_tried_method_has_its_place_over_many_data_sets_and_the_grade_of_the_first():
    runs = suite_of(8)
    new, others = ([r for r in runs if (r.method == "Ensemble") == mine] for mine in (True, False))
    told = "\n".join(standing_of(new, others, details=True))
    place = "Ensemble: place 1 of 3 methods of tables, quick profile, by its mean share of the gap"
    assert f"{place} over 8 data sets; the tests leave no other open." in told
    assert "Ensemble is best over tables like these: all 2 others are worse." in told
    assert re.search(r"table0, NLL: place 1 of 3 by mean, [\d. ±]+; best", told)
