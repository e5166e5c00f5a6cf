"""The sentence about a user's table agrees with the decisions, and names the methods."""

import numpy as np
import pytest

from bnnbench.reports.judge.answers import answer
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record


def concluded(scores, metrics=("nll",), origin="own"):
    """Return the conclusions of runs whose scores are method → values over folds."""
    return answer(benchmarks(records_of("mine", metrics, scores, origin))).conclusions


def records_of(name, metrics, scores, origin="own"):
    return [
        record(
            method,
            dataset=name,
            fold=fold,
            suite="own",
            origin=origin,
            scores={"clean": {metric: float(value) for metric in metrics}},
        )
        for method, values in scores.items()
        for fold, value in enumerate(values)
    ]


def around(centre, spread=0.01, stream=0):
    return centre + spread * np.random.default_rng(stream).normal(size=6)


def test_who_is_best_and_who_is_worse():
    scores = {"A": around(1.0), "B": around(2.0, stream=1), "C": around(3.0, stream=2)}
    assert concluded(scores) == ("For mine, by NLL, A is best, and all others are worse.",)


def test_methods_that_cannot_be_told_apart_are_named():
    scores = {"A": around(1.0, 0.1), "B": around(1.02, 0.1, stream=1), "C": around(9.0, stream=2)}
    (text,) = concluded(scores)
    first, second = ("A", "B") if scores["A"].mean() < scores["B"].mean() else ("B", "A")
    assert text == (
        f"For mine, by NLL, {first} leads, but {second} cannot be told from it with six splits, "
        "and C is worse."
    )


def test_methods_that_differ_by_nothing_that_matters_are_practically_equal():
    scores = {"A": around(1.0, 1e-4), "B": around(1.005, 1e-4, stream=1), "C": around(2.0)}
    assert concluded(scores) == (
        "For mine, by NLL, A is best, B is practically equal to it, and C is worse.",
    )


def test_many_are_counted_where_nothing_tells_them_apart():
    scores = {f"M{k}": around(1.0, 0.2, stream=k) for k in range(7)}
    (text,) = concluded(scores)
    assert text.endswith(
        "is ahead, but nothing is decided: none of the other six methods can be told from it with "
        "six splits."
    )


def test_metrics_of_equal_findings_share_a_clause():
    scores = {"A": around(0.2), "B": around(0.9, stream=1)}
    (text,) = concluded(scores, ("nll", "rmse"))
    assert text == "For mine, by NLL and RMSE, A is best, and B is worse."


def test_two_runs_are_not_tested_and_one_method_is_compared_with_nothing():
    (text,) = concluded({"A": [1.0, 1.1], "B": [2.0, 2.1]})
    assert text == "For mine, by NLL, A has the best mean, but nothing was tested."
    assert concluded({"A": around(1.0)}) == ("For mine, by NLL, A alone was compared.",)


@pytest.mark.parametrize("origin", ["original", "stand-in"])
def test_other_data_has_no_conclusion(origin):
    assert concluded({"A": around(1.0), "B": around(2.0)}, origin=origin) == ()


def test_tables_that_have_nothing_to_do_with_each_other_are_answered_one_by_one():
    homes = records_of("homes", ("rmse",), {"A": around(1.0), "B": around(2.0, stream=1)})
    trees = records_of("trees", ("nll",), {"C": around(1.0), "D": around(2.0, stream=1)})
    found = answer(benchmarks([*homes, *trees]))
    assert found.conclusions == (
        "For homes, by RMSE, A is best, and B is worse.",
        "For trees, by NLL, C is best, and D is worse.",
    )
    assert found.best.startswith("On homes, two methods were run.")
    assert "On trees, two methods were run." in found.best
    assert "not run" not in found.limits
