"""The answer in three sentences agrees with the tests, and is grammatical for any numbers."""

import dataclasses
import math
import re

import numpy as np
import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.judge.answers import answer
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.style.words import all_of, counted, joined, quoted, some_of
from tests.records import changed
from tests.reports.synthetic import record, runs_of


def answered(*records):
    return answer(benchmarks(records))


def around(centre, spread=0.01, seeds=6, stream=0):
    return centre + spread * np.random.default_rng(stream).normal(size=seeds)


def on_sets(count, gaps, seeds=5):
    """Return runs on `count` data sets; a method's score exceeds the first's by its gap."""
    found = []
    for k in range(count):
        scores = {
            method: around(1 + gap, stream=10 * k + i, seeds=seeds)
            for i, (method, gap) in enumerate(gaps.items())
        }
        found += runs_of(scores, dataset=f"set{k}")
    return found


def test_a_planted_difference_is_found():
    found = answered(*runs_of({"IVON": around(1.0), "AdamW": around(2.0, stream=1)}))
    assert found.best == (
        "On CIFAR-10, two methods were run. IVON has the best NLL (1.0009 nats); AdamW is worse."
    )
    assert found.line == "CIFAR-10: IVON has the best NLL (1.0009 nats); AdamW is worse."


def test_a_planted_tie_is_left_open():
    scores = {"IVON": around(1.0, 0.1), "AdamW": around(1.0, 0.1, stream=1)}
    found = answered(*runs_of(scores))
    assert "Six seeds cannot tell these two methods apart: " in found.best
    assert ", and none is shown to be worse." in found.best
    assert re.search(r"(IVON|AdamW), the nearest, would take (about|more than) ", found.best)


@pytest.mark.long
def test_how_often_a_tie_is_told_as_a_difference():
    """Six tied methods, 150 suites: the sentence calls one of them worse in at most 6 %."""
    rng, claims = np.random.default_rng(0), 0
    names = ("A", "B", "C", "D", "E", "F")
    for _ in range(150):
        values = dict(zip(names, rng.normal(size=(6, 8)), strict=True))
        text = answered(*runs_of(values)).best
        claims += bool(re.search("(is|are) worse", text))
    assert claims / 150 <= 0.06


def test_some_are_open_and_some_are_worse():
    scores = {m: around(1.0, stream=i) for i, m in enumerate(("IVON", "MFVI", "SGD"))}
    scores |= {m: around(5.0, stream=9 + i) for i, m in enumerate(("HMC", "PBP"))}
    found = answered(*runs_of(scores))
    assert "the lowest NLL so far (" in found.best
    assert "cannot be told from the best with six seeds; " in found.best
    assert "PBP and HMC are worse." in found.best


def test_many_that_are_open_are_counted_not_listed():
    scores = {f"M{i}": around(1.0, 0.2, stream=i) for i in range(9)}
    found = answered(*runs_of(scores | {"Z": around(9.0, stream=10)}))
    assert "but eight methods cannot be told from the best with six seeds;" in found.best
    assert "; Z is worse." in found.best


def test_all_others_are_worse():
    scores = {f"M{i}": around(i, stream=i) for i in range(6)}
    found = answered(*runs_of(scores))
    assert found.line.endswith("; all five other methods are worse.")


def test_a_single_method_is_best_of_nothing():
    found = answered(*runs_of({"AdamW": around(1.0)}))
    text = "On CIFAR-10, one method was run. AdamW alone was compared: its NLL is 1.0009 nats."
    assert found.best == text


def test_equal_means_are_shared():
    found = answered(*runs_of({"A": [1.0, 2.0, 3.0], "B": [3.0, 2.0, 1.0], "C": [9.0, 9.1, 9.3]}))
    assert "A and B have the lowest NLL (2.0 nats)" in found.best


def test_too_few_runs_are_not_tested_and_that_is_said():
    runs = [
        record(m, seed=s, scores={"clean": {"nll": n + s / 9, "accuracy": 0.5 - n / 9}})
        for m, n in (("AdamW", 1.0), ("SGD", 2.0))
        for s in range(2)
    ]
    found = answered(*runs)
    assert "AdamW has the lowest NLL (1.06 nats); with two runs nothing was tested." in found.best
    assert "AdamW has the highest accuracy (38.89\u00a0%); with two runs" in found.best
    assert not re.search("worse|equal|told", found.best)
    assert found.limits == ""


def test_methods_with_too_few_runs_are_named():
    runs = runs_of({"A": around(1.0), "B": around(2.0, stream=1), "C": [0.3, 0.1]})
    found = answered(*runs)
    assert "A has the best NLL (1.0009 nats); B is worse." in found.best
    assert found.best.endswith("Not compared: C (has two of six runs).")


def test_runs_that_failed_are_counted_and_whose_they_are():
    runs = runs_of({"A": around(1.0), "B": around(1.1, stream=1)})
    runs[7] = changed(runs[7], status="diverged", scores={})
    runs[8] = changed(runs[8], status="failed", scores={})
    assert answered(*runs).limits == "1 of 12 runs diverged and 1 failed (B 2 of 6)."
    assert answered(*runs[:-1]).limits == (
        "1 of 12 runs diverged, 1 failed and 1 was not run (B 3 of 6)."
    )
    assert "Not compared: B (two of six runs failed or diverged)." in answered(*runs).best


def test_runs_that_did_not_converge_count_by_their_score_and_are_named():
    runs = runs_of({"A": around(1.0), "B": around(1.1, stream=1)})
    runs[7] = changed(runs[7], diagnostics={"converged": 0.0})
    assert answered(*runs).limits == (
        "1 completed run did not converge and counts by score (B 1 of 6)."
    )
    converged = runs_of({"A": around(1.0), "B": around(1.1, stream=1)})
    assert answered(*runs).best == answered(*converged).best


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "The only run of 1 method diverged or failed; there is nothing to compare."),
        (2, "Both runs of 2 methods diverged or failed; there is nothing to compare."),
        (3, "All 3 runs of 3 methods diverged or failed; there is nothing to compare."),
    ],
)
def test_nothing_succeeded(count, text):
    runs = [record(m, status="diverged", scores={}) for m in ("A", "B", "C")[:count]]
    found = answered(*runs)
    assert found.sentences == (text,)
    assert found.line == text


def test_no_records_and_no_scores():
    assert answered().sentences == ("There are no runs to compare.",)
    (text,) = answered(record(scores={"clean": {"entropy": 1.0}})).sentences
    assert text == "1 run was completed, but there is no score by which to compare methods."


def test_scores_that_are_no_numbers_are_not_called_best():
    scores = {"A": [math.nan] * 4, "B": [math.inf] * 4}
    found = answered(*runs_of(scores))
    nobody = "No method has a complete set of runs, so none is called best."
    assert f"{nobody} Not compared: A and B (a score is not finite)." in found.best
    assert found.line == f"CIFAR-10: {nobody}"
    found = answered(*runs_of(scores | {"C": around(1.0)}))
    assert "C alone was compared: its NLL is " in found.best


def test_stand_in_data_are_called_so():
    found = answered(*runs_of({"A": around(1), "B": around(2)}, origin="stand-in"))
    assert found.best.startswith("On CIFAR-10 (stand-in data), two methods")
    assert "(stand-in data)" in found.line


def timed(scores, seconds):
    return [
        dataclasses.replace(run, cost=Cost(seconds[run.method], 0.1, 1.0))
        for run in runs_of(scores)
    ]


def test_costs_are_beside_those_of_adamw():
    scores = {"IVON": around(1.0), "AdamW": around(1.001, stream=1), "SGD": around(3.0, stream=2)}
    found = answered(*timed(scores, {"IVON": 5.0, "AdamW": 2.0, "SGD": 1.0}))
    assert found.cost == "A fit of IVON takes 5 s, of AdamW 2 s."
    near = {m: around(1.0, 1e-3, stream=i) for i, m in enumerate(("IVON", "AdamW"))}
    found = answered(*timed(near, {"IVON": 5.0, "AdamW": 2.0}))
    first = "A fit of IVON takes 5 s, of AdamW 2 s"
    other = "A fit of AdamW takes 2 s, less than any other method"
    assert found.cost in {f"{first}; AdamW itself is practically equal.", f"{other}."}
    without = {m: v for m, v in scores.items() if m != "AdamW"}
    found = answered(*timed(without, {"IVON": 5.0, "SGD": 1.0}))
    assert found.cost == "A fit of IVON takes 5 s, of SGD, the cheapest, 1 s."


def test_a_constant_is_no_base_of_costs_and_not_compared():
    runs = timed({"IVON": around(1.0), "Floor": around(0.3)}, {"IVON": 5.0, "Floor": 0.001})
    runs = [
        changed(r, diagnostics={"ignores_inputs": 1.0}) if r.method == "Floor" else r for r in runs
    ]
    found = answered(*runs)
    assert found.cost == "A fit of IVON takes 5 s."
    assert (
        "IVON alone was compared: its NLL is 1.0009 nats. Not compared: Floor (a constant)."
        in found.best
    )
    assert found.best.endswith(
        "A constant prediction has a better NLL (0.3009 nats): this metric alone does not show a "
        "useful method."
    )


def test_two_data_sets_are_counted():
    found = answered(*on_sets(2, {"A": 0.0, "B": 1.0}))
    assert "A is best or practically equal to the best on both data sets" in found.best
    assert found.best.startswith("Of 2 methods on 2 data sets, by NLL, ")


def test_one_method_on_several_data_sets():
    found = answered(*on_sets(3, {"A": 0.0}))
    assert found.best == "On 3 data sets, by NLL, A is the only method with a score."


def test_six_data_sets_are_ranked():
    found = answered(*on_sets(6, {"A": 0.0, "B": 1.0, "C": 2.0}))
    assert "A has the best mean rank (1.0 of 3)" in found.best
    assert "on all 6 data sets" in found.best
    assert "ranks best by NLL over 6 data sets" in found.line


def test_four_data_sets_are_too_few_to_tell_ranks_apart():
    found = answered(*on_sets(4, {"A": 0.0, "B": 1.0}))
    assert "so few data sets cannot tell ranks apart" in found.best
    assert "told from it by rank" not in found.best
    assert found.line.endswith("which are too few to tell ranks apart.")


def test_several_data_sets_without_tests():
    found = answered(*on_sets(3, {"A": 0.0, "B": 1.0}, seeds=2))
    assert "A has the best mean on all 3 data sets; differences were not tested." in found.best
    assert found.line.endswith("; differences were not tested.")


def test_a_name_with_a_comma_is_set_in_quotation_marks():
    found = answered(*runs_of({"AP2, rank 4": around(1.0), "AP1": around(2.0)}))
    assert "“AP2, rank 4” has the best NLL" in found.best


def test_lower_is_not_better_for_accuracy():
    found = answered(*runs_of({"A": around(0.9), "B": around(0.2)}, "accuracy"))
    assert "A has the best accuracy (90." in found.best
    assert "%)" in found.best


def test_clauses_about_printed_numbers_come_last():
    found = answer(benchmarks(runs_of({"A": around(1.0)})), ["all 3 printed numbers agree"])
    assert found.limits == "All 3 printed numbers agree."


def test_every_sentence_begins_and_ends_as_one():
    cases = (
        runs_of({"A": around(1.0)}),
        runs_of({"A": around(1.0), "B": around(2.0)}),
        runs_of({"A, b": [1.0, 2.0], "C": [2.0, 3.0]}),
        on_sets(5, {"A": 0.0, "B": 0.1, "C": 3.0}),
        on_sets(7, {"A": 0.0, "B": 0.0, "C": 0.0, "D": 1.0}),
    )
    for runs in cases:
        found = answered(*runs)
        for text in (*found.sentences, found.line):
            assert text[0].isupper() or text[0] == "“", text
            assert text.endswith("."), text
            assert not re.search(r"  | ,|\.\.|;\.|, ;|nan", text), text


def test_lists_and_counts():
    assert [joined(list("ABC")[:n]) for n in range(4)] == ["", "A", "A and B", "A, B and C"]
    assert joined(list("ABCDE"), most=3) == "A, B, C and 2 others"
    assert joined(list("ABCD"), most=3) == "A, B, C and D"
    assert some_of(["A"], 2) == "A and 1 other"
    assert some_of(["A", "B"], 5, "method") == "A, B and 3 other methods"
    assert [counted(n, "run") for n in range(3)] == ["no runs", "1 run", "2 runs"]
    assert all_of(1, "run") == "The only run"
    assert quoted("MP") == "MP"
