"""Runs of November 2026, decided from their scores only: the counts of the specification."""

import functools
from collections import Counter
from pathlib import Path

import pytest

from bnnbench.reports.judge.table import Cell
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.condition_tables import condition_table
from tests.records import changed
from tests.reports.judge.tables import records_of_tables

STATES = ("best", "leads", "equal", "undecided", "worse", "not eligible")
REAL = ("rmse", "log_likelihood", "crps")
CLASSES = ("accuracy", "nll", "brier", "ece")


SPECIFICATION = Path(__file__).parent / "specification"
"""Tables of the runs counted in the specification."""


@functools.cache
def records(suite):
    return records_of_tables(SPECIFICATION / suite)


def tables(suite, profile, without=()):
    chosen = [r for r in records(suite) if r.profile == profile and r.method not in without]
    return [condition_table(b, b.main, list(b.runs)) for b in benchmarks(chosen)]


def cells(found, names):
    for table in found:
        for k, column in enumerate(table.columns):
            if column.name in names:
                for row in table.rows:
                    if isinstance(cell := row.cells[k], Cell):
                        yield table.title, column.name, row.method, cell.standing


@pytest.mark.parametrize(
    ("suite", "profile", "names", "expected"),
    [
        ("uci", "quick", REAL, (0, 13, 0, 166, 37, 9)),
        ("uci", "quick", ("rmse",), (0, 7, 0, 52, 13, 3)),
        ("uci", "paper_002", ("rmse", "log_likelihood"), (0, 10, 0, 39, 11, 0)),
        ("cifar10", "quick", CLASSES, (3, 1, 0, 11, 41, 4)),
        ("cifar10", "quick", ("accuracy",), (1, 0, 0, 0, 13, 1)),
        ("rotated_mnist", "quick", CLASSES, (0, 4, 0, 32, 16, 4)),
        ("cifar10_shift", "quick", CLASSES, (0, 4, 0, 48, 12, 4)),
    ],
)
def test_states_are_as_often_as_specified(suite, profile, names, expected):
    found = Counter(s.state for *_, s in cells(tables(suite, profile), names))
    assert tuple(found[state] for state in STATES) == expected


def test_the_worst_of_energy_is_worse():
    found = {m: s for t, _, m, s in cells(tables("uci", "quick"), ("rmse",)) if "energy" in t}
    assert found["CIBER (last)"].state == "worse"
    assert found["CIBER (last)"].adjusted_p == pytest.approx(0.0004, abs=5e-5)
    assert sum(standing.state == "worse" for standing in found.values()) == 11
    assert sum(standing.state == "undecided" for standing in found.values()) == 12


def test_a_wild_method_changes_few_states():
    """CIFAR-10 without and with the published message passing, at 22.7 ± 28 % accuracy."""
    without = tables("cifar10", "quick", without=("MP (published)",))
    calm = {(name, m): s.state for _, name, m, s in cells(without, CLASSES)}
    wild = {(n, m): s.state for _, n, m, s in cells(tables("cifar10", "quick"), CLASSES)}
    worse = [place for place, state in calm.items() if state == "worse"]
    lost = [place for place in worse if wild[place] == "undecided"]
    assert len(lost) <= len(worse) / 10


def test_the_best_of_a_store_is_not_best_once_a_run_failed():
    changes = {"status": "diverged", "scores": {}}
    found = of_ensemble([changed(r, **changes) if r.seed == 0 else r for r in of_cifar10()])
    assert set(found) == {"not eligible"}


def test_a_run_that_did_not_converge_counts_as_any_other():
    unconverged = [changed(run, diagnostics={"converged": 0.0}) for run in of_cifar10()]
    assert of_ensemble(unconverged) == of_ensemble(of_cifar10())


def of_cifar10():
    return [run for run in records("cifar10") if run.profile == "quick"]


def of_ensemble(runs):
    """Return the states of the ensemble, in whose runs alone others may differ."""
    others = [run for run in of_cifar10() if run.method != "Ensemble"]
    (benchmark,) = benchmarks([*others, *(run for run in runs if run.method == "Ensemble")])
    found = [condition_table(benchmark, benchmark.main, list(benchmark.runs))]
    return [s.state for *_, m, s in cells(found, CLASSES) if m == "Ensemble"]
