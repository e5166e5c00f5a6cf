"""Our folds and a publication's: paired differences by SciPy, and exclusions."""

import numpy as np
import pytest
from scipy import stats

from bnnbench.commands.report import main
from bnnbench.datasets.official.uci import SETS
from bnnbench.reports.papers.literature import SOURCES
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.literature import comparison, fold_means
from tests.records import changed
from tests.reports.synthetic import keep, record

(MC_DROPOUT,) = SOURCES


def a_run(fold, value, method="Ours", **changes):
    changes = {"facts": {}, "seed": 0, **changes}
    source = {"run": {"source": {"type": "uci", "name": "yacht"}}}
    scores = {"clean": {"rmse": value}}
    return record(method, "yacht", fold, scores=scores, suite="uci", **source | changes)


def theirs():
    return MC_DROPOUT.scores["yacht", "rmse"]


def rows(runs):
    (benchmark,) = benchmarks(runs)
    return comparison(benchmark, MC_DROPOUT, list(benchmark.runs))


@pytest.mark.parametrize(
    ("dataset", "metric", "mean", "folds"),
    [
        ("boston", "log_likelihood", -2.40, 20),
        ("energy", "log_likelihood", -1.21, 20),
        ("yacht", "log_likelihood", -1.25, 20),
        ("kin8nm", "log_likelihood", 1.14, 20),
        ("protein", "log_likelihood", -2.87, 5),
        ("boston", "rmse", 2.90, 20),
    ],
)
def test_the_copied_folds_have_the_means_that_were_published(dataset, metric, mean, folds):
    scores = MC_DROPOUT.scores[dataset, metric]
    assert sorted(scores) == list(range(folds)) == list(range(SETS[dataset].folds))
    assert np.mean(list(scores.values())) == pytest.approx(mean, abs=0.0051)


def test_differences_agree_with_a_paired_test():
    gaps = np.random.default_rng(0).normal(-0.1, 0.1, 20)
    found = rows([a_run(fold, theirs()[fold] + gap) for fold, gap in enumerate(gaps)])
    result = stats.ttest_1samp(gaps, 0.0)
    interval = result.confidence_interval(0.95)
    half = (interval.high - interval.low) / 2
    ((_, metric, _, _, difference, folds, verdict),) = found
    assert metric == "RMSE"
    assert difference == f"{gaps.mean():+.3f} ± {half:.3f}"
    assert (folds, verdict) == ("20", "better")
    assert result.pvalue < 0.05


@pytest.mark.parametrize(
    ("shift", "expected"), [(0.5, "worse"), (-0.5, "better"), (0, "undecided")]
)
def test_verdicts_know_that_small_errors_are_better(shift, expected):
    wobble = 0.01 * (-1) ** np.arange(20)
    runs = [a_run(fold, theirs()[fold] + shift + w) for fold, w in enumerate(wobble)]
    assert rows(runs)[0][-1] == expected


def test_the_overlap_of_training_sets_widens_the_interval():
    gaps = 0.1 * np.arange(20)
    half = {}
    for ratio in (0, 1 / 9):
        facts = {"test_rows": 1 if ratio else 0, "train_rows": 9}
        runs = [a_run(f, theirs()[f] + gap, facts=facts) for f, gap in enumerate(gaps)]
        half[ratio] = float(rows(runs)[0][4].split("± ")[1])
    assert half[1 / 9] / half[0] == pytest.approx((1 + 20 / 9) ** 0.5, rel=1e-2)


def test_seeds_are_averaged_and_a_fold_with_a_failed_run_is_left_out():
    failed = changed(a_run(1, 9.0, seed=1), status="failed", scores={})
    runs = [a_run(0, 1.0), a_run(0, 3.0, seed=1), a_run(1, 5.0), failed]
    assert fold_means(runs, "clean", "rmse") == {0: 2.0}


def test_other_folds_and_other_data_are_not_compared():
    sources = ({"type": "limited", "name": "yacht"}, {"type": "uci", "name": "yacht"})
    for source, origin in zip(sources, ("original", "stand-in"), strict=True):
        runs = [a_run(f, 1.0, run={"source": source}, origin=origin) for f in range(3)]
        assert rows(runs) == []
    assert rows([a_run(0, 1.0)]) == []  # a single fold has no interval


def test_the_page_names_publication_and_settings(tmp_path):
    folder = tmp_path / "uci"
    keep(folder, [a_run(f, theirs()[f] + 1 + 0.01 * f) for f in range(4)])
    assert main([str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert "Beside the literature" in page
    assert "Mukhoti, Stenetorp and Gal (2018)" in page
    assert "6eb4497" in page
    assert "worse" in page
