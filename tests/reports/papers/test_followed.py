"""The declared order of profiles by nearness to a paper's protocol, and their departures."""

import dataclasses
import importlib

import pytest

from bnnbench.reports.papers.coverage import coverage
from bnnbench.reports.papers.entries import (
    FILE,
    departures,
    entries,
    fits,
    listed,
    nearest_first,
    place,
)
from bnnbench.reports.papers.published import every, table
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.suites import SUITES
from bnnbench.suites import departures as declarations
from tests.reports.papers.test_verdicts import PRINTED, followers


def claimed():
    """Return the printed numbers that each suite's profile has a row for."""
    for name in SUITES:
        for suite in importlib.import_module(f"bnnbench.suites.{name}").SUITES.values():
            for claim in getattr(suite, "reproduces", ()):
                labels = {f"{m}{arm}".casefold() for m in suite.methods for arm in ("", "-r", "-a")}
                for published in table(claim.paper, claim.table):
                    if published.method in labels:
                        yield f"{suite.name}/{suite.profile}", published


def test_every_profile_with_a_printed_number_has_a_place_in_its_order():
    found = dict.fromkeys(claimed())
    assert {profile for profile, _ in found} > {"uci/paper", "cifar10/paper", "toy/coverage_paper"}
    for profile, published in found:
        assert profile in nearest_first(published), f"{profile} of {published}"


@pytest.mark.parametrize(
    "declared", [entries(FILE, "orders"), declarations.departures()], ids=["orders", "departures"]
)
def test_every_declaration_fits_some_number_of_a_declared_profile(declared):
    profiles = {
        f"{suite.name}/{suite.profile}"
        for name in SUITES
        for suite in importlib.import_module(f"bnnbench.suites.{name}").SUITES.values()
    }
    for entry in declared:
        assert set(listed(entry, "profiles")) <= profiles
        assert len(set(listed(entry, "profiles"))) == len(listed(entry, "profiles"))
        assert any(fits(entry, published) for published in every()), entry


def test_the_first_order_that_fits_counts():
    first, second = "uci/paper_002_reference", "uci/paper_002"
    ciber, swag = (
        next(p for p in table("002", "1") if p.method == method)
        for method in ("ciber (last)", "swag")
    )
    assert place(ciber, first) < place(ciber, second) < place(ciber, "uci/quick")
    assert place(swag, second) < place(swag, first) < place(swag, "uci/quick")


def test_departures_are_declared_for_rows():
    mixture = [p for p in table("002", "1") if p.method == "swag"]
    assert all(len(departures(p, "uci/paper_002")) == 2 for p in mixture)
    assert not any(departures(p, "uci/paper_002") for p in table("002", "1") if p.method == "dvi")
    assert not departures(PRINTED, "uci/paper")


def of_table_1(ran):
    """Return how PBP's RMSE on boston in table 1 of paper 004 is covered."""
    (found,) = (t for t in coverage({"uci": ran}) if (t.paper, t.number) == ("004", "1"))
    (printed,) = (
        n
        for n in found.numbers
        if (n.published.dataset, n.published.method, n.published.metric)
        == ("boston", "pbp", "rmse")
    )
    return printed


def test_the_nearest_profile_decides_whatever_agrees():
    """A profile without a place has more repeats, and one that cannot be compared yields."""
    near = followers(10)
    far = [dataclasses.replace(r, profile="other") for r in followers(20)]
    assert _profile(near + far) == "uci/paper"
    assert _profile(far) == "uci/other"
    (single, *_) = near
    assert _profile([single, *far]) == "uci/other"
    assert _profile([single]) == "uci/paper"


def _profile(runs):
    judgement = of_table_1(benchmarks(runs)).judgement
    return judgement.comparison.profile
