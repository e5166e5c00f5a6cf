"""The table of failures: worse than the constant, diverged, failed; nothing if there are none."""

import pytest

from bnnbench.commands.report import main
from bnnbench.reports.judge.summaries.shortfalls import shortfalls
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.failures import over_sets
from tests.reports.synthetic import keep, record

CONSTANT = -1.0


def run(method, dataset, fold, score=None, seed=0, metric="log_likelihood", **changes):
    scores = {} if score is None else {"clean": {metric: score}}
    return record(method, dataset, fold, seed, scores, suite="uci", **changes)


def constant(dataset, folds=3, metric="log_likelihood", score=CONSTANT):
    said = {"ignores_inputs": 1.0}
    return [
        run("Training mean", dataset, fold, score, metric=metric, diagnostics=said)
        for fold in range(folds)
    ]


def every(runs):
    of = benchmarks(runs)
    return [s for b in of for s in shortfalls(b, tuple(b.runs))]


@pytest.fixture
def runs():
    """Return two sets: GP is worse on yacht in the mean, and in one split of boston."""
    gaps = {"boston": (0.5, -0.25, 0.75), "yacht": (-2.0, 0.5, 0.25)}
    of_gp = [
        run("GP", dataset, fold, CONSTANT + gap)
        for dataset, of in gaps.items()
        for fold, gap in enumerate(of)
    ]
    good = [run("AdamW", dataset, fold, 0.0) for dataset in gaps for fold in range(3)]
    return [*of_gp, *good, *constant("boston"), *constant("yacht")]


def test_a_method_has_a_row_with_its_sets_splits_and_worst_split(runs):
    listing = over_sets(every(runs), "all data sets")
    assert listing is not None
    assert listing.rows == (("GP", "1 of 2: yacht", "2 of 6", "−2.00 on yacht", "0", "0"),)


def test_what_always_beats_the_constant_has_no_row(runs):
    assert over_sets(every([r for r in runs if r.method != "GP"]), "all data sets") is None


def test_runs_that_ended_early_are_counted_without_a_constant_too():
    ended = [
        run("A", "boston", 0, status="diverged", error="NaN"),
        run("A", "boston", 1, status="failed", error="ran longer than 60 s"),
        run("A", "boston", 2, 0.0),
    ]
    listing = over_sets(every(ended), "all data sets")
    assert listing is not None
    assert listing.rows == (("A", "0 of 0", "0 of 0", "", "1", "1"),)


def test_a_split_counts_once_by_the_mean_of_its_seeds():
    seeds = [run("A", "boston", 0, CONSTANT + gap, seed) for seed, gap in enumerate((-1.0, 3.0))]
    base = [
        run("Training mean", "boston", fold, CONSTANT, seed, diagnostics={"ignores_inputs": 1.0})
        for fold in (0, 1)
        for seed in (0, 1)
    ]
    (one,) = every([*seeds, run("A", "boston", 1, CONSTANT + 2.0), *base])
    assert one.gains == (1.0, 2.0)


def test_without_a_likelihood_gains_are_shares_of_the_constants_error():
    others = [run("Intervals", "boston", fold, 3.0, metric="crps") for fold in range(3)]
    (one,) = every([*others, *constant("boston", metric="crps", score=2.0)])
    assert one.metric == "crps"
    assert one.gains == (-0.5, -0.5, -0.5)
    likely = [run("Classes", "mnist", fold, 0.4, metric="nll") for fold in range(3)]
    (one,) = every([*likely, *constant("mnist", metric="nll", score=1.0)])
    assert one.gains == pytest.approx((0.6, 0.6, 0.6))


def test_reports_show_it_over_all_sets_and_for_each(runs, tmp_path):
    keep(tmp_path / "uci", runs)
    assert main([str(tmp_path / "uci")]) == 0
    page = (tmp_path / "uci" / "report.html").read_text()
    assert "Worse than the constant, diverged or failed on all data sets" in page
    assert "−2.00 on yacht" in page
