"""Ranks over data sets: exclusions and their reasons, failures, and the figure."""

import dataclasses
import re

import numpy as np
import pytest

from bnnbench.reports.judge.ranks import ranks
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.ranking import draw_ranks, packed
from bnnbench.reports.style.palette import styles
from tests.records import changed
from tests.reports.synthetic import record

METHODS = ("AdamW", "IVON", "MFVI")


def store(sets, gap=1.0, folds=5, methods=METHODS, metric="rmse", **changes):
    """Return runs on `sets`; every method is worse than the previous one by `gap`."""
    rng = np.random.default_rng(0)
    return [
        record(
            method, dataset=f"set{s}", fold=fold, suite="uci",
            scores={"clean": {metric: 10.0**s * (3 + gap * m + 0.1 * rng.normal())}}, **changes,
        )
        for s in range(sets)
        for fold in range(folds)
        for m, method in enumerate(methods)
    ]  # fmt: skip


def ranked(records, metric="rmse"):
    return ranks(benchmarks(records), metric)


def test_methods_in_one_order_on_every_set_have_whole_ranks():
    found = ranked(store(6))
    assert [(p.method, p.rank) for p in found.places] == list(zip(METHODS, (1, 2, 3), strict=True))
    assert [p.worse for p in found.places] == [False, True, True]
    assert found.bars == ()
    assert found.friedman.statistic == pytest.approx(12)
    assert found.left_out == {}


def test_higher_accuracies_rank_first():
    assert [p.method for p in ranked(store(4, metric="accuracy"), "accuracy").places] == [
        "MFVI", "IVON", "AdamW",
    ]  # fmt: skip


def test_the_distance_to_the_first_is_in_standard_deviations_whatever_the_units():
    first, second, third = ranked(store(8)).places
    assert first.behind == 0
    assert second.behind == pytest.approx(10, rel=0.3)
    assert third.behind == pytest.approx(2 * second.behind, rel=0.1)
    assert second.behind_low < second.behind < second.behind_high


def test_equal_methods_are_joined_by_a_bar():
    found = ranked(store(7, gap=0.0))
    assert found.bars == ((0, 1, 2),)
    assert not any(place.worse for place in found.places)


@pytest.mark.parametrize("sets", [4, 5])
def test_so_few_sets_tell_nothing_and_the_note_says_so(sets):
    found = ranked(store(sets))
    assert not found.can_tell
    assert found.bars == ((0, 1, 2),)
    assert any("too few to tell any two methods apart" in note for note in found.notes)
    assert ranked(store(6)).can_tell


def test_fewer_than_four_sets_are_not_ranked():
    assert ranked(store(3)) is None
    assert ranked(store(5, methods=("AdamW",))) is None
    assert ranked(store(5), "accuracy") is None


def test_cases_of_the_same_data_are_no_data_sets_of_their_own():
    assert ranked(store(5, facts={"train_rows": 90, "test_rows": 10, "sha256": "same"})) is None


def test_networks_on_one_generated_source_are_no_data_sets_of_their_own():
    source = {"type": "sine"}
    runs = [dataclasses.replace(r, run={**r.run, "source": source}) for r in store(5)]
    assert ranked(runs) is None


def test_a_method_that_fails_on_a_set_is_last_there_and_named():
    runs = [
        changed(r, status="diverged", scores={})
        if (r.method, r.dataset) == ("AdamW", "set2") and r.fold < 3
        else r
        for r in store(6)
    ]
    found = ranked(runs)
    place = next(p for p in found.places if p.method == "AdamW")
    assert place.rank == pytest.approx((5 * 1 + 3) / 6)
    assert place.failed_on == ("set2",)
    assert np.isnan(place.behind)
    assert len(found.sets) == 6


def test_runs_that_diverged_and_runs_that_failed_count_together():
    """Three of five are most runs; two of one kind and one of the other separately are not."""
    ends = {0: "diverged", 1: "diverged", 2: "failed"}
    records = [
        changed(r, status=ends[r.fold], scores={})
        if (r.method, r.dataset) == ("AdamW", "set2") and r.fold in ends
        else r
        for r in store(6)
    ]
    (place,) = (p for p in ranked(records).places if p.method == "AdamW")
    assert place.failed_on == ("set2",)


def test_few_diverged_runs_are_left_out_for_all_methods():
    runs = [
        changed(r, status="diverged", scores={})
        if (r.method, r.dataset, r.fold) == ("AdamW", "set2", 0)
        else changed(r, scores={"clean": {"rmse": 1e9 if r.method == "IVON" else 0.0}})
        if (r.dataset, r.fold) == ("set2", 0)
        else r
        for r in store(6)
    ]
    # If fold 0 of set2 counted, IVON would be last and MFVI first.
    assert [p.rank for p in ranked(runs).places] == [1, 2, 3]


def test_infinite_scores_rank_last():
    runs = [
        changed(r, scores={"clean": {"rmse": np.inf}}) if r.method == "AdamW" else r
        for r in store(6)
    ]
    assert [p.method for p in ranked(runs).places] == ["IVON", "MFVI", "AdamW"]


def test_a_method_without_runs_on_a_set_is_left_out_and_named():
    lacking = {("MFVI", f"set{s}") for s in (0, 2, 4)}
    found = ranked([r for r in store(6) if (r.method, r.dataset) not in lacking])
    assert [p.method for p in found.places] == ["AdamW", "IVON"]
    assert found.left_out == {"MFVI": "no scores on 3 of 6 data sets"}
    assert "MFVI is left out: no scores on 3 of 6 data sets." in found.notes


def test_a_set_that_most_methods_lack_is_left_out_and_named():
    runs = [r for r in store(6) if r.method == "AdamW" or r.dataset != "set1"]
    found = ranked(runs)
    assert len(found.places) == 3
    assert found.sets == ("set0", "set2", "set3", "set4", "set5")
    assert list(found.left_out) == ["set1"]


def test_the_figure_names_every_method_and_says_what_it_shows():
    many = tuple(f"Method number {i} <b>" for i in range(20))
    found = ranked(store(6, methods=many, gap=0.02))
    drawing = draw_ranks(found, styles(many), "here")
    for name in many:
        assert name.replace("<", "&lt;").replace(">", "&gt;") in drawing.svg
    assert re.search(r'aria-label="Mean ranks by RMSE over 6 data sets: ', drawing.svg)
    assert "<b>" not in drawing.svg
    assert drawing.heading == "RMSE over 6 data sets"


def test_bars_share_columns_without_touching():
    assert packed([(0, 1, 2), (1, 2, 3), (4, 5)]) == [[(0, 1, 2), (4, 5)], [(1, 2, 3)]]
    assert packed([(0, 1), (1, 2)]) == [[(0, 1)], [(1, 2)]]
    assert packed([]) == []
