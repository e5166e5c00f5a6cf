"""The profiles of CIBER on UCI sets: printed rows, and rows that share CIBER's descent."""

from dataclasses import replace
from itertools import groupby

import pytest

from bnnbench.engine.declare.grid import grouped
from bnnbench.methods.ciber.method import PAPER_LAST, PAPER_SECOND, Ciber
from bnnbench.methods.trajectory.collector import Descending
from bnnbench.methods.trajectory.one_descent import OneDescent
from bnnbench.reports.papers.published import table
from bnnbench.suites.uci import SUITES

REFERENCE = SUITES["paper_002_reference"]


def test_every_printed_method_has_a_row():
    printed = {score.method for number in ("1", "5") for score in table("002", number)}
    assert len(printed) == 11
    assert printed <= {label.casefold() for label in REFERENCE.methods}


@pytest.mark.parametrize(
    "profile",
    [
        *("quick", "paper_002", "paper_002_reference", "paper_002_quoted"),
        *("large", "paper_002_large_quoted"),
    ],
)
def test_rows_beside_ciber_are_of_its_fit(profile):
    suite = replace(SUITES[profile], folds=1, seeds=1)
    runs = [run for run in suite.runs() if isinstance(run.method, Ciber)]
    runs = [run for run in runs if run.label != "CIBER (no early stop)"]
    groups = grouped(iter(runs), 20)
    assert len(groups) == len(suite.cases)
    wanted = {"CIBER (last)", "CIBER (no box)", "Iterates"}
    for group in groups:
        assert wanted <= {run.label for run in group}


def test_methods_of_a_set_have_one_descent():
    runs = [run for run in replace(REFERENCE, folds=1).runs() if isinstance(run.method, Descending)]
    for _, of_set in groupby(runs, key=lambda run: run.case.name):
        methods = [run.method for run in of_set if run.label != "CIBER (no early stop)"]
        assert len(methods) == 11
        assert len({method.training for method in methods}) == 1


@pytest.mark.parametrize(
    ("profile", "rows"), [("paper_002_quoted", 7), ("paper_002_large_quoted", 6)]
)
def test_rows_of_the_quoted_work_share_a_descent(profile, rows):
    suite = replace(SUITES[profile], folds=1)
    runs = [run for run in suite.runs() if isinstance(run.method, OneDescent)]
    groups = grouped(iter(runs), 20)
    assert [len(group) for group in groups] == [rows] * len(suite.cases)


def test_rows_of_the_quoted_work_are_scored_as_there():
    suite = SUITES["paper_002_quoted"]
    rows = {name: suite.methods[name] for name in ("SWAG", "PCA+ESS (SI)", "PCA+VI (SI)")}
    for name, method in rows.items():
        assert isinstance(method, OneDescent)
        assert method.gaussian
        mixture = suite.methods[f"{name.removesuffix(' (SI)')} (mixture)"]
        assert mixture == replace(method, gaussian=False)


def test_rows_without_a_floor_are_of_the_papers_text():
    suite = SUITES["paper_002_quoted"]
    for name, of_text in (("last", PAPER_LAST), ("second", PAPER_SECOND)):
        method = suite.methods[f"CIBER ({name}, no floor)"]
        assert isinstance(method, Ciber)
        same = ("collapse", "bounds", "ratio", "epsilons", "samples")
        assert {s: getattr(method, s) for s in same} == {s: getattr(of_text, s) for s in same}
