"""The profiles of CIBER on UCI sets: printed rows, and rows that share CIBER's descent."""

from dataclasses import replace
from itertools import groupby

import pytest

from bnnbench.engine.declare.grid import grouped
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.trajectory.collector import Descending
from bnnbench.reports.papers.published import table
from bnnbench.suites.uci import SUITES

REFERENCE = SUITES["paper_002_reference"]


def test_every_printed_method_has_a_row():
    printed = {score.method for number in ("1", "5") for score in table("002", number)}
    assert len(printed) == 11
    assert printed <= {label.casefold() for label in REFERENCE.methods}


@pytest.mark.parametrize("profile", ["quick", "paper_002", "paper_002_reference", "large"])
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
