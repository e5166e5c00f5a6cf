"""Verdicts on printed numbers, for comparisons made by hand and declared protocols."""

import dataclasses
import importlib
import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.papers.coverage import coverage
from bnnbench.reports.papers.protocols import DECLARED, declared, ours
from bnnbench.reports.papers.published import FOLDER, Published, _rows, table
from bnnbench.reports.papers.reproduction import Comparison, _columns, reproductions
from bnnbench.reports.papers.verdicts import (
    LEVEL,
    ONE_RUN,
    READ_AS_STD,
    declarations,
    judge,
    judgements,
)
from bnnbench.reports.read.benchmarks import benchmarks
from docs.generate.finished_runs import suites
from tests.reports.synthetic import record

PRINTED = Published(
    paper="004", table="1", dataset="boston", condition="clean", metric="rmse", method="pbp",
    model="mlp_1x50_relu", protocol={}, value=3.0, spread=0.3, spread_kind="standard_error",
    repeats=20, decimals=4, note="", doubtful=False,
)  # fmt: skip


def compared(mean, error=0.4, std=1.0, differs=(), repeats=10**9, asked=20, **printed):
    return Comparison(
        dataclasses.replace(PRINTED, **{"repeats": asked} | printed), "boston", "PBP", "clean",
        mean, error, 20, repeats, (), tuple(differs), 0, std,
    )  # fmt: skip


def deviate(difference, *errors, repeats=(10**9, 20)):
    """Return the normal deviate of Welch's t."""
    square = sum(e**2 for e in errors)
    degrees = square**2 / sum(e**4 / (n - 1) for e, n in zip(errors, repeats, strict=False))
    return stats.norm.isf(stats.t.sf(difference / math.sqrt(square), degrees))


@pytest.mark.parametrize(
    ("mean", "kind"),
    [(3.0, "agrees"), (4.0, "agrees"), (4.02, "differs"), (1.98, "differs"),
     (5.6, "differs"), (5.7, "differs much"), (0.3, "differs much")],
)  # fmt: skip
def test_two_standard_errors_are_agreement_and_five_much(mean, kind):
    """Standard errors of 0.3, from 20 repeats, and of 0.4, practically known: 0.5 together."""
    found = judge(compared(mean))
    assert found.kind == kind
    assert found.z == pytest.approx(deviate(mean - 3, 0.4, 0.3), rel=1e-5)


@pytest.mark.parametrize(
    ("spread_kind", "error"),
    [("standard_error", 0.3), ("std", 0.3 / math.sqrt(20)), ("interval", 0.3 / 1.959964)],
)
def test_a_spread_becomes_a_standard_error(spread_kind, error):
    found = judge(compared(3.1, spread_kind=spread_kind))
    assert found.z == pytest.approx(deviate(0.1, 0.4, error), rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("ours", "theirs"), [(3, 10), (3, 3), (20, 20)])
def test_equal_means_of_few_repeats_differ_as_rarely_as_of_many(ours, theirs):
    """Two standard errors are a level of 4.6 %; Welch's t nearly keeps it: 6 % for 3 and 10."""
    rng, differ, raw = np.random.default_rng(ours), 0, 0
    for _ in range(2000):
        one, other = rng.standard_normal(ours), rng.standard_normal(theirs)
        errors = [stats.sem(one), stats.sem(other)]
        found = judge(compared(3 + one.mean() - other.mean(), errors[0], repeats=ours,
                               spread=errors[1], asked=theirs))  # fmt: skip
        differ += found.kind != "agrees"
        raw += abs(one.mean() - other.mean()) > 2 * math.hypot(*errors)
    assert differ / 2000 < 0.07
    assert differ <= raw
    assert ours > 3 or theirs > 3 or raw / 2000 > 0.08


def test_far_out_the_deviate_is_finite():
    assert judge(compared(3 + 1e4)).z == pytest.approx(2e4, rel=1e-6)


@pytest.mark.parametrize(
    ("mean", "repeats", "close"),
    [(3.59, 4, True), (2.41, 4, True), (3.61, 4, False), (3.1, 3, False)],
)
def test_close_is_within_a_fifth_from_more_than_three_repeats(mean, repeats, close):
    found = judge(compared(mean, repeats=repeats))
    assert found.kind == "agrees"
    assert found.closely == close


@pytest.mark.parametrize(("mean", "close"), [(0.005, True), (0.015, True), (0.016, False)])
def test_half_a_unit_of_the_last_place_is_close(mean, close):
    """A fifth of the printed 0.01 is less than its rounding."""
    found = judge(compared(mean, error=0.01, value=0.01, spread=0.01, decimals=2, repeats=20))
    assert (found.kind, found.closely) == ("agrees", close)


def test_what_differs_is_not_close():
    found = judge(compared(3.1, error=0.01, spread=0.01))
    assert found.comparison.close
    assert (found.kind, found.closely) == ("differs much", False)


def test_equal_numbers_differ_as_often_as_the_level_says():
    """Deviates of equal numbers with known standard errors, drawn 4,000 times."""
    drawn = 0.5 * np.random.default_rng(0).standard_normal(4000)
    differing = [judge(compared(3 + d, repeats=10**9, asked=10**9)).kind for d in drawn]
    share = sum(kind != "agrees" for kind in differing) / 4000
    assert share == pytest.approx(LEVEL, abs=4 * math.sqrt(LEVEL / 4000))


def test_a_departure_excuses_a_difference_and_no_agreement():
    """In paper 004, one precision for all weights is no protocol of HMC's."""

    def found(mean, method="hmc-r", profile="active_learning/paper"):
        one = compared(mean, table="2", method=method, dataset="yacht")
        return judge(dataclasses.replace(one, profile=profile))

    assert found(3.0).kind == "agrees"
    assert found(3.0).departures
    assert (found(4.5).kind, found(4.5).much) == ("departs", False)
    assert (found(9.0).kind, found(9.0).much) == ("departs", True)
    assert found(9.0).excuses == tuple(found(9.0).departures.values())
    assert "precision" in found(9.0).excuses[0]
    assert found(9.0, method="la-r").kind == "differs much"
    assert found(9.0, profile="active_learning/other").kind == "differs much"


@pytest.mark.parametrize(
    ("value", "mean", "kind"),
    [(0.01, 0.0252, "cannot be met"), (0.02, 0.0252, "agrees"), (0.02, 0.04, "differs much"),
     (0.01, 0.2, "cannot be met"), (0.05, 0.02, "differs much")],
)  # fmt: skip
def test_a_printed_error_below_that_of_its_samples_cannot_be_met(value, mean, kind):
    """A thousand samples have an error of 0.0252, which rounding may hide in 0.02."""
    found = judge(compared(mean, error=1e-4, std=2e-4, value=value, decimals=2, spread=None,
                           spread_kind="none", paper="001", metric="eps_mu", table="2",
                           asked=None))  # fmt: skip
    assert found.kind == kind
    assert (kind == "cannot be met") == ("1,000 samples" in " ".join(found.reasons))


def test_rounding_counts():
    """Two printed decimals, with spread 0.00: half a unit, and the rounding of the value."""
    found = judge(compared(3.01, error=0.001, spread=0.0, decimals=2))
    expected = deviate(0.01, 0.001, 0.005, 0.01 / math.sqrt(12))
    assert found.z == pytest.approx(expected, rel=1e-5)


def test_a_spread_of_unstated_kind_decides_only_what_every_reading_does():
    """As a standard error 0.3, as a standard deviation 0.067."""
    assert judge(compared(3.5, spread_kind="unstated")).kind == "agrees"
    assert judge(compared(4.5, spread_kind="unstated")).kind == "differs"
    between = judge(compared(3.9, spread_kind="unstated"))
    assert between.kind == "not comparable"
    assert "z is 1.8 or 2.2" in between.reasons[-1]


@pytest.mark.parametrize("spread_kind", ["std", "unstated"])
@pytest.mark.parametrize(
    ("difference", "kind"),
    [(0.7, "agrees"), (0.9, "not comparable"), (1.1, "differs"), (2.6, "differs much")],
)
def test_of_an_unknown_number_of_runs_the_error_is_between_none_and_the_spread(
    difference, kind, spread_kind
):
    """Ours is 0.4: agreement up to 0.8, and a difference from two times 0.5 on."""
    found = judge(compared(3 + difference, spread_kind=spread_kind, asked=None))
    assert found.kind == kind
    assert found.reasons[0].startswith("the number of runs is not stated")


def test_a_deviation_that_a_paper_does_not_name_is_read_as_one_of_its_splits():
    found = judge(compared(3.9, spread_kind="unstated", paper="002"))
    assert found.z == pytest.approx(deviate(0.9, 0.4, 0.3 / math.sqrt(20)), rel=1e-5)
    assert found.reasons == (READ_AS_STD["002"],)


@pytest.mark.long
def test_such_a_deviation_is_as_large_as_ours_over_as_many_splits():
    """The RMSE of paper 002's 20 splits: as a standard error, ± would be 4.5 times too large."""
    ratios = [
        printed.published.spread / printed.judgement.comparison.std
        for table in coverage(suites())
        if (table.paper, table.number) == ("002", "5")
        for printed in table.numbers
        if printed.judgement and printed.published.repeats and printed.published.value
        and printed.judgement.comparison.repeats == printed.published.repeats
    ]  # fmt: skip
    assert len(ratios) > 15
    assert 0.8 < np.median(ratios) < 1.25


def test_a_paper_of_one_seed_prints_one_run():
    """Its standard error is our deviation, 1; our standard error is 0.4."""
    for mean, kind in ((5.0, "agrees"), (5.3, "differs")):
        found = judge(compared(mean, spread=None, spread_kind="none", paper="001", asked=None))
        assert (found.kind, found.reasons) == (kind, (ONE_RUN["001"],))
        assert found.z == pytest.approx((mean - 3) / math.hypot(0.4, 1.0), rel=1e-5)


def test_a_number_without_spread_may_be_of_one_run():
    """One run varies by our standard deviation, 1; the mean of many does not vary."""
    assert judge(compared(3.7, spread=None, spread_kind="none")).kind == "agrees"
    assert judge(compared(4.5, spread=None, spread_kind="none")).kind == "not comparable"
    assert judge(compared(6.0, spread=None, spread_kind="none")).kind == "differs"


@pytest.mark.parametrize("ours", [3, 5, 20])
def test_one_more_run_of_the_same_law_differs_as_rarely_from_few_repeats(ours):
    """Its spread is taken from ours and is equally uncertain: Student's t with our freedom."""
    rng, differ = np.random.default_rng(ours), 0
    for _ in range(2000):
        one, single = rng.standard_normal(ours), rng.standard_normal()
        mean, std = 3 + one.mean() - single, one.std(ddof=1)
        found = judge(compared(mean, stats.sem(one), std, repeats=ours, asked=None,
                               spread=None, spread_kind="none"))  # fmt: skip
        differ += found.kind.startswith("differs")
    assert 0.03 < differ / 2000 < 0.06


def test_another_protocol_is_not_compared_and_says_what_differs():
    found = judge(compared(3.0, differs=("profile quick, not paper",)))
    assert (found.kind, found.z) == ("not comparable", None)
    assert found.reasons == ("profile quick, not paper",)


def test_one_run_of_ours_is_not_compared():
    found = judge(dataclasses.replace(compared(3.0, error=None, std=None), runs=1))
    assert found.reasons == ("one run of ours has no standard error",)


def followers(folds=20, epochs=40, train=900, **changes):
    architecture = importlib.import_module("bnnbench.suites.uci.settings").NETWORK
    described = importlib.import_module("bnnbench.engine.declare.description").describe(
        architecture
    )
    run = {"architecture": described, "method": {"type": "x:Pbp", "epochs": epochs}} | changes
    return [
        record("PBP", "boston", fold=f, profile="paper", run=run, suite="uci",
               facts={"train_rows": train, "test_rows": 100},
               scores={"clean": {"rmse": 3.0 + f / 10, "log_likelihood": -2.5 - f / 100}},
               reproduces=({"paper": "004", "table": "1", "departures": []},))
        for f in range(folds)
    ]  # fmt: skip


def reasons(runs):
    judged = judgements(reproductions(benchmarks(runs))).values()
    assert judged
    return {reason for one in judged for reason in one.comparison.differs}


def test_runs_by_the_protocol_are_compared():
    assert reasons(followers()) == set()
    (declaration,) = declarations(reproductions(benchmarks(followers())))
    assert declaration.tables == ("1",)
    told = {name: (theirs, mine) for name, theirs, mine in declaration.rows}
    assert told["split"][1] == "20 folds of 900 + 100 rows"
    assert told["training"] == ("40 passes, updated after every row", "40 epochs")
    assert told["network"][1] == "Linear 50, ReLU, Linear 1"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epochs": 30}, "30 epochs, not 40"),
        ({"train": 400}, "20 % of the rows for testing, not 10 %"),
        ({"architecture": []}, "a network other than the paper's (mlp 1x50 relu)"),
        ({"source": {"type": "x:Augmented"}}, "images are augmented"),
    ],
)
def test_a_departure_from_the_protocol_is_found_in_the_runs(changes, reason):
    assert reason in reasons(followers(**changes))


def test_dropout_layers_are_no_other_network():
    (first, *_) = followers(1)
    layers = first.run["architecture"]
    with_dropout = [
        {"type": "dropout", "rate": 0.1},
        *layers,
    ]
    assert reasons(followers(architecture=with_dropout)) == set()


def test_a_missing_augmentation_is_named():
    (printed, *_) = table("003", "11")
    run = record("MAP", run={"source": {"type": "x:Cifar10"}}, facts={})
    found = list(declared(printed).differences(printed, [run]))
    assert "images are not augmented" in found
    nested = {"type": "x:Limited", "source": {"type": "x:Augmented"}}
    run = record("MAP", run={"source": nested}, facts={})
    assert "images are not augmented" not in list(declared(printed).differences(printed, [run]))


def test_every_table_of_scores_has_a_protocol():
    tables = {(r["paper"], r["table"].lower()) for p in FOLDER.glob("*.csv") for r in _rows(p)}
    scores = {(paper, number) for paper, number in tables if number.isdigit()}
    assert scores - DECLARED.keys() == {("001", "1")}  # an AND gate, in closed form
    for found in DECLARED.values():
        assert set(found.protocol.entries) == {
            "split", "units", "training", "network", "augmentation", "spread",
        }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["cifar10", "uci", "active_learning", "rotated_mnist", "stl10_transfer"]
)
def test_the_suites_follow_the_protocols_that_they_claim(name):
    """Epochs, networks and augmentation of every run of a paper's profile, with its number."""
    found, checked = {}, 0
    suites = importlib.import_module(f"bnnbench.suites.{name}").SUITES
    for suite in (s for profile, s in suites.items() if profile.startswith("paper")):
        first = {(run.label, run.source.name): run for run in suite.runs()}
        for claim in suite.reproduces:
            for (label, dataset), run in first.items():
                ran = record(label, dataset, facts={}, run=dict(run.description))
                cells = [row for row in table(claim.paper, claim.table) if row.dataset == dataset]
                models = _columns({row.model for row in cells}, [ran])
                for printed in cells:
                    if printed.method == label.casefold() and printed.model in models:
                        checked += 1
                        for reason in declared(printed).differences(printed, [ran]):
                            found.setdefault(reason, set()).add((label, dataset))
    assert checked > 10
    assert found == {}


def test_our_protocol_is_read_from_the_records():
    seeds = [record(seed=s, run={"method": {"training": {"epochs": 6}}}) for s in range(3)]
    told = ours(seeds)
    assert (told.split, told.training) == ("one split of 900 + 100 rows", "6 epochs")
    assert told.spread == "standard error over 3 seeds"
    assert ours(seeds[:1]).spread == "one run"
