"""Conditions under which a printed number may be compared with ours."""

import csv
import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bnnbench.engine.declare.description import describe
from bnnbench.methods.networks.catalogue import cnn_000, mlp
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.papers import reproduction
from bnnbench.reports.papers.published import table
from bnnbench.reports.papers.reproduction import comparisons, remarks, reproductions
from bnnbench.reports.papers.verdicts import judge
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record

TABLE_1 = ({"paper": "000", "table": "1", "departures": ["a departure"]},)
PERCEPTRON = {"architecture": describe(mlp([50], 1))}
UCI = ({"paper": "004", "table": "1", "departures": []},)


def paper_run(method="AdamW", scores=None, **changes):
    scores = scores or {"clean": {"accuracy": 0.78, "nll": 1.7, "ece": 0.1, "ece_paper000": 0.04}}
    faithful = {"run": {"architecture": describe(cnn_000())}, "facts": {}}
    fields = {"profile": "paper", "scores": scores, "reproduces": TABLE_1} | faithful | changes
    return record(method, **fields)


def compared(*records):
    return [c for b in benchmarks(records) for c in comparisons(b)]


def test_a_paper_run_on_original_data_stands_beside_the_printed_number():
    found = {c.published.metric: c for c in compared(paper_run())}
    assert found["accuracy"].published.value == 0.783
    assert found["accuracy"].difference == pytest.approx(-0.003)
    assert found["accuracy"].departures == ("a departure",)
    assert all(not c.differs for c in found.values())


def test_the_calibration_error_of_paper_000_is_compared_with_its_own_metric():
    found = {c.published.metric: c for c in compared(paper_run())}
    assert "ece" not in found
    assert found["ece_paper000"].mean == 0.04
    assert found["ece_paper000"].published.value == 0.046


def test_runs_that_did_not_converge_are_counted_beside_the_printed_number():
    runs = [paper_run(seed=s, diagnostics={"converged": float(s == 0)}) for s in range(3)]
    found = compared(*runs)
    assert found
    assert all("2 of our 3 runs did not converge" in remarks(c) for c in found)
    assert not any("converge" in text for c in compared(paper_run()) for text in remarks(c))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"profile": "quick"}, "profile quick"),
        ({"profile": "coverage"}, "profile coverage"),
        ({"origin": "subset"}, "subset"),
        (
            {"run": {"source": {"type": "limited", "train": 9}}},
            "limited",
        ),
    ],
)
def test_another_protocol_stands_apart_with_what_differs(change, reason):
    found = compared(paper_run(**change))
    assert found
    assert all(any(reason in text for text in c.differs) for c in found)
    assert all(judge(c).z is None for c in found)
    assert not any(r.same_protocol for r in reproductions(benchmarks([paper_run(**change)])))


def test_no_printed_number_stands_beside_a_stand_in():
    assert compared(paper_run(origin="stand-in")) == []
    assert compared(paper_run(origin="stand-in", profile="quick")) == []


def test_no_printed_number_stands_beside_a_condition_scored_on_a_stand_in():
    scores = {"clean": {"accuracy": 0.8}, "ood_svhn": {"auroc_ood": 0.8}}
    origins = {"clean": "original", "ood_svhn": "stand-in"}
    found = compared(paper_run(scores=scores, condition_origins=origins))
    assert [c.published.metric for c in found] == ["accuracy"]


def test_a_subset_of_the_outliers_is_another_protocol():
    scores = {"ood_svhn_first1083": {"auroc_ood": 0.8}}
    (found,) = compared(
        paper_run(scores=scores, condition_origins={"ood_svhn_first1083": "subset"})
    )
    assert any("ood_svhn_first1083" in text for text in found.differs)


def test_nothing_is_compared_unless_the_suite_claims_to_follow_the_table():
    assert compared(paper_run(reproduces=())) == []
    assert compared(paper_run(reproduces=({"paper": "000", "table": "7"},))) == []


def test_methods_are_matched_by_name_and_aliases_not_by_resemblance():
    assert compared(paper_run("adamw")) != []
    assert compared(paper_run("AdamW (script)")) == []
    found = compared(paper_run("MP"))
    assert {c.published.method for c in found} == {"mp"}


def test_a_doubtful_value_is_not_compared(monkeypatch):
    doubtful = tuple(dataclasses.replace(row, doubtful=True) for row in table("000", "1"))
    monkeypatch.setattr(reproduction, "table", lambda paper, number: doubtful)
    found = compared(paper_run())
    assert found
    assert all(c.differs for c in found)


@pytest.mark.parametrize("outside", ["svhn", "svhn_first1083"])
def test_message_passing_sees_images_from_elsewhere_as_the_script_has_them(outside):
    names = [f"ood_{outside}{ending}" for ending in ("", "_unnormalised")]
    scores = {name: {"auroc_ood": 0.8} for name in names}
    conditions = [{"normalised": way, "source": {"type": outside}} for way in (True, False)]
    fields = {
        "condition_traits": {name: {"variant_of": "ood_svhn"} for name in names},
        "evaluations": tuple({"condition": condition} for condition in conditions),
    }
    found = {
        method: [c.condition for c in compared(paper_run(method, scores, **fields))]
        for method in ("AdamW", "MP")
    }
    assert found == {"AdamW": names[:1], "MP": names[1:]}


def test_a_profile_of_one_paper_of_several_follows_it():
    found = compared(paper_run(profile="paper_000", seed=0), paper_run(profile="paper_000", seed=1))
    assert found
    assert not any("profile" in reason for c in found for reason in c.differs)


def test_diverged_runs_are_compared_with_nothing():
    assert compared(paper_run(status="diverged")) == []


def test_a_mean_over_the_runs_that_survived_stands_apart():
    records = [paper_run(), paper_run(seed=1), paper_run(seed=2, status="diverged")]
    found = compared(*records)
    assert all("1 of 3 runs not completed" in c.differs for c in found)
    assert all(not c.differs for c in compared(*records[:2]))


def test_fewer_repeats_than_the_paper_has_are_told_and_fewer_than_three_stand_apart():
    found = {folds: compared(*uci_runs(folds)[1]) for folds in (2, 3, 19, 20, 21)}
    differs = {folds: {c.differs for c in own} for folds, own in found.items()}
    assert differs.pop(2) == {("2 repeats, not 20",)}
    assert all(own == {()} for own in differs.values())
    told = {folds: {note for c in own for note in remarks(c)} for folds, own in found.items()}
    short = {folds: f"{folds} repeats, not 20" in told[folds] for folds in found}
    assert short == {2: True, 3: True, 19: True, 20: False, 21: False}


def test_a_second_seed_of_a_fold_is_no_further_repeat():
    _, records = uci_runs(10)
    twice = [dataclasses.replace(r, key=r.key + "b", seed=1) for r in records]
    assert {c.repeats for c in compared(*records, *twice)} == {10}


def uci_runs(folds):
    rng = np.random.default_rng(0)
    values = 3.0 + 0.4 * rng.standard_normal(folds)
    return values, [
        paper_run("PBP", {"clean": {"rmse": v, "log_likelihood": -2.5}}, dataset="boston",
                  fold=fold, suite="uci", reproduces=UCI, run=PERCEPTRON)
        for fold, v in enumerate(values)
    ]  # fmt: skip


def test_z_is_the_difference_in_standard_errors_of_both_sides():
    values, records = uci_runs(20)
    found = {c.published.metric: c for c in compared(*records)}
    ours, theirs = values.std(ddof=1) / math.sqrt(20), 0.18
    t = (values.mean() - 3.014) / math.hypot(ours, theirs, 0.001 / math.sqrt(12))
    degrees = (ours**2 + theirs**2) ** 2 / ((ours**4 + theirs**4) / 19)
    expected = stats.norm.isf(stats.t.sf(t, degrees))
    assert judge(found["rmse"]).z == pytest.approx(expected, rel=1e-3)


def test_z_needs_a_standard_error_of_ours():
    _, records = uci_runs(1)
    assert {judge(c).z for c in compared(*records)} == {None}


def test_percent_becomes_a_fraction():
    printed = {(p.method, p.condition): p for p in table("003", "2")}
    assert printed["map", "clean"].value == pytest.approx(0.9682)
    assert printed["map", "clean"].spread == pytest.approx(0.0006)
    assert ("map", "rotated_60_nearest") in printed


def test_a_log_likelihood_is_compared_with_a_negative_one_turned_round():
    records = paper_run(scores={"clean": {"log_likelihood": -1.7}})
    (found,) = compared(records)
    assert (found.published.metric, found.mean) == ("nll", 1.7)


def test_normalised_log_likelihoods_meet_standardised_ones():
    assert {p.metric for p in table("002", "2")} == {"log_likelihood_standardised"}


def test_every_printed_number_can_be_read():
    for path in sorted(Path("reports/papers/published").glob("*.csv")):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        for paper, number in {(row["paper"], row["table"]) for row in rows}:
            assert len(table(paper, number)) >= sum(
                (row["paper"], row["table"]) == (paper, number) for row in rows
            )


def test_a_page_over_stand_ins_prints_no_published_number(tmp_path):
    keep(tmp_path / "cifar10", [paper_run(origin="stand-in", seed=s) for s in range(3)])
    page = render(content(read(tmp_path / "cifar10")))
    assert "Stand-in data" in page
    assert "Published" not in page
    assert "0.783" not in page


def test_a_page_over_one_condition_of_stand_ins_says_no_more_than_that(tmp_path):
    scores = {"clean": {"accuracy": 0.78}, "ood_photograph_crops": {"auroc_ood": 0.7}}
    origins = {"clean": "original", "ood_photograph_crops": "stand-in"}
    runs = [paper_run(scores=scores, condition_origins=origins, seed=s) for s in range(3)]
    keep(tmp_path / "cifar10", runs)
    page = render(content(read(tmp_path / "cifar10")))
    assert "Stand-in test data</strong> under CIFAR-10: ood_photograph_crops" in page
    assert "show that the software runs" not in page
    assert "0.783" in page


def test_a_page_names_the_departures_beside_the_numbers(tmp_path):
    keep(tmp_path / "cifar10", [paper_run(seed=s) for s in range(3)])
    page = render(content(read(tmp_path / "cifar10")))
    assert "0.783" in page
    assert "a departure" in page
    assert "Stand-in data" not in page
