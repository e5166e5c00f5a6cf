"""Shares of the gap by training size, computed by hand from a few scores."""

from types import SimpleNamespace

import pytest
from scipy import stats

from bnnbench.reports.read.benchmarks import benchmarks
from docs.generate import by_size
from tests.reports.synthetic import record

PROFILE = {"profile": "tables:sizes"}

# Mean log likelihoods over two splits, 1 above and below: rows → table → method.
SCORES = {
    50: {"a": {"Mean": -3.0, "X": -2.0, "Y": -1.0}, "b": {"Mean": 0.0, "X": 2.0, "Y": -9.0}},
    500: {"a": {"Mean": -3.0, "X": -1.0, "Y": -2.5}, "b": {"Mean": 0.0, "X": 4.0, "Y": 1.0}},
}


def runs(method, table, rows, mean):
    constant = {"ignores_inputs": 1.0} if method == "Mean" else {}
    for fold, off in enumerate((-1.0, 1.0)):
        yield record(
            method,
            f"{table}-{rows}",
            fold=fold,
            scores={"clean": {"log_likelihood": mean + off}},
            suite="tables",
            profile="sizes",
            diagnostics=constant,
        )


@pytest.fixture
def sizes(monkeypatch):
    records = [
        run
        for rows, tables in SCORES.items()
        for table, scores in tables.items()
        for method, mean in scores.items()
        for run in runs(method, table, rows, mean)
    ]
    suites = {"tables": benchmarks(records)}
    monkeypatch.setattr(by_size, "suites", lambda: suites)


def half_width(values):
    return stats.t.ppf(0.975, 1) * stats.sem(values)


def test_a_cell_has_the_mean_share_over_tables_and_the_mean_rank(sizes):
    head, _, *rows = by_size.sizes_table(PROFILE)
    assert head == ("method", "50 rows", "500 rows")
    assert [method for method, *_ in rows] == ["X", "Y"]
    assert rows[0][1] == f"0.75 ± {half_width([0.5, 1.0]):.2f}, rank 1.5"
    assert rows[1][1] == f"0.50 ± {half_width([1.0, 0.0]):.2f}, rank 1.5"
    assert rows[0][2] == "1.00 ± 0.00, rank 1.0"
    assert rows[1][2] == "0.25 ± 0.00, rank 2.0"


def test_a_difference_is_paired_by_table(sizes):
    _, _, few, many = by_size.size_differences_table(PROFILE | {"of": "X", "less": "Y"})
    assert few == ("50", f"+0.25 ± {half_width([-0.5, 1.0]):.2f}", "1 of 2")
    assert many == ("500", "+0.75 ± 0.00", "2 of 2")


def test_orders_are_compared_between_sizes_and_between_tables(sizes):
    _, _, *rows = by_size.orders_table(PROFILE)
    assert rows == [
        ("50 and 500 rows, the same table", "0.00", "−1.00", "1.00"),
        ("two tables, 50 rows of each", "−1.00", "−1.00", "−1.00"),
        ("two tables, 500 rows of each", "1.00", "1.00", "1.00"),
    ]


def test_a_failed_fit_counts_as_far_below_the_constant_as_the_best_is_above():
    scores = {"Mean": [0.0, 0.0], "X": [1.0, 1.0], "Y": [1.0, None]}
    fits = {
        method: [SimpleNamespace(outcome=SimpleNamespace(scores=score(s))) for s in values]
        for method, values in scores.items()
    }
    scored = by_size._scored("a", fits, ["X", "Y"], "Mean")
    assert by_size.shares([scored], 0.05).u.tolist() == [[1.0], [0.0]]


def score(value):
    return {} if value is None else {"clean": {"log_likelihood": value}}
