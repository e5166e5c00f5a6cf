"""The compared methods and their runs, and the reasons why others are left out."""

import math

import pytest

from bnnbench.reports.judge.participants import LETTERS, Exclusion, candidates, participants

ASKED = frozenset((0, seed) for seed in range(4))


def seeds(count, first=0, value=1.0):
    return {(0, seed): value + seed for seed in range(first, first + count)}


def test_all_are_compared_on_the_runs_that_all_have():
    found = participants({"A": seeds(4), "B": seeds(3)}, {}, ASKED, by_fold=False)
    assert found.methods == ("A", "B")
    assert found.common == ((0, 0), (0, 1), (0, 2))
    assert found.left_out == {}


def test_what_runs_say_of_themselves_bars_a_method():
    why = Exclusion("constant", "a constant")
    found = participants({"A": seeds(4), "B": seeds(4)}, {"B": why}, ASKED, by_fold=False)
    assert found.methods == ("A",)
    assert found.left_out == {"B": why}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_not_compared(value):
    samples = {"A": seeds(4), "B": {**seeds(4), (0, 2): value}}
    found = participants(samples, {}, ASKED, by_fold=False)
    assert found.left_out["B"].kind == "not a number"


def test_the_method_that_lacks_most_runs_leaves_and_of_equals_the_later_one():
    samples = {"A": seeds(4), "B": seeds(1), "C": seeds(2, first=2), "D": seeds(2)}
    found = participants(samples, {}, ASKED, by_fold=False)
    assert found.methods == ("A",)
    assert found.common == tuple(sorted(ASKED))
    assert {why.reason for why in found.left_out.values()} == {
        "has one of four runs",
        "has two of four runs",
    }
    samples = {"A": seeds(3), "B": seeds(3, first=1)}
    assert participants(samples, {}, ASKED, by_fold=False).methods == ("A",)


def test_folds_are_counted_and_not_their_seeds():
    runs = {(fold, seed): 1.0 for fold in range(2) for seed in range(3)}
    asked = frozenset((fold, seed) for fold in range(4) for seed in range(3))
    found = participants({"A": dict.fromkeys(asked, 1.0), "B": runs}, {}, asked, by_fold=True)
    assert found.left_out["B"].kind == "too few runs"


def test_two_runs_are_left_as_they_are():
    asked = frozenset({(0, 0), (0, 1)})
    found = participants({"A": seeds(2), "B": seeds(1)}, {}, asked, by_fold=False)
    assert found.methods == ("A",)  # and not the one that lost a run


def test_methods_without_a_score_are_no_matter():
    found = participants({"A": seeds(4), "B": {}}, {}, ASKED, by_fold=False)
    assert found.methods == ("A",)
    assert participants({"B": {}}, {}, ASKED, by_fold=False).methods == ()


def test_equal_rows_are_one_candidate():
    samples = {"A": seeds(4), "B": seeds(4, value=2.0), "C": seeds(4)}
    found = candidates(samples, ("A", "B", "C"), tuple(sorted(ASKED)))
    assert found == {"A": ("A", "C"), "B": ("B",)}


def test_every_kind_has_a_letter_of_its_own():
    assert sorted(LETTERS.values()) == sorted(set(LETTERS.values()))
