"""Scores at test points: their means are the recorded scores, and the decisions use them."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from bnnbench.metrics import METRICS, value
from bnnbench.reports.pages.captions import caption
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read
from bnnbench.reports.read.predictions import point_scores
from bnnbench.reports.read.predictions.point_scores import (
    KeptScores,
    factors_of,
    linearised_root,
    placements,
)
from bnnbench.reports.read.predictions.redrawn import redrawn_ece, weights
from tests.records import changed
from tests.reports.synthetic import classified, detected, keep, record, regressed, scored

NAMES = {"clean": ("accuracy", "nll", "brier", "ece", "mce"), "ood_svhn": ("auroc_ood",)}


def classified_runs(methods=("AdamW", "SGD"), seeds=3):
    runs, predictions = [], {}
    for k, method in enumerate(methods):
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            found = {
                "clean": classified(rng, 1.0, 300, noise=2.0 * k),
                "ood_svhn": detected(rng, 1.0 + k, 1.0, 200),
            }
            run = record(method, seed=seed, scores=scored(found, NAMES))
            runs.append(run)
            predictions[run.key] = found
    return runs, predictions


@pytest.fixture
def shown(tmp_path):
    keep(tmp_path / "cifar10", *classified_runs())
    return content(read(tmp_path / "cifar10"))


def test_means_over_points_are_the_recorded_scores(tmp_path):
    runs, predictions = classified_runs()
    store = keep(tmp_path / "s", runs, predictions)
    runs = [record for record in store.records()]
    kept = KeptScores(store, runs, "clean")
    for run in runs:
        for condition, names in NAMES.items():
            for name in names:
                factors = kept.of(run, condition, name)
                if name == "mce":
                    assert factors is None  # no mean over points, and not redrawn
                    continue
                if name == "ece":
                    assert factors.score == pytest.approx(run.outcome.scores[condition][name])
                    continue
                for factor in factors:
                    assert factor.mean() == pytest.approx(
                        run.outcome.scores[condition][name], rel=1e-4
                    )


def test_an_rmse_is_linearised_in_target_units(tmp_path):
    found = {"clean": regressed(np.random.default_rng(0), 0.3, 0.4)}
    target = {"name": "y", "unit": "m", "mean": 5.0, "std": 20.0}
    rmse = 20 * value(METRICS["rmse"], *found["clean"])
    run = record(scores={"clean": {"rmse": rmse}}, target=target)
    store = keep(tmp_path / "s", [run], {run.key: found})
    (run,) = store.records()
    (factor,) = KeptScores(store, [run], "clean").of(run, "clean", "rmse")
    assert factor.mean() == pytest.approx(rmse, rel=1e-5)


def test_the_spread_of_a_linearised_root_agrees_with_the_root():
    rng = np.random.default_rng(0)
    roots = [np.sqrt((rng.normal(size=400) ** 2).mean()) for _ in range(2000)]
    values = linearised_root(rng.normal(size=400) ** 2)
    assert values.std() / 20 == pytest.approx(np.std(roots), rel=0.15)


def test_placements_have_the_auroc_as_their_mean():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, 90) / 5 + np.repeat([0.0, 0.4], 45)  # with ties
    outlying = np.repeat([0, 1], 45)
    expected = roc_auc_score(outlying, scores)
    assert [part.mean() for part in placements(scores, outlying)] == pytest.approx([expected] * 2)
    assert placements(scores, np.zeros(90, int)) == ()


def test_a_score_that_is_no_mean_over_points_has_none():
    prediction, targets = classified(np.random.default_rng(0), 1.0, 50)
    assert factors_of("mce", prediction, targets) == ()
    assert len(factors_of("auroc_ood", prediction, torch.arange(50) % 2)) == 2


def test_an_ece_on_draws_is_the_metric_of_the_drawn_points():
    prediction, targets = classified(np.random.default_rng(0), 2.0, 200)
    found = redrawn_ece(prediction, targets)
    for counts, drawn in list(zip(weights(200), found.draws, strict=True))[:5]:
        chosen = np.repeat(np.arange(200), counts.astype(int))
        again = type(prediction)(prediction.log_probs[:, chosen])
        expected = value(METRICS["ece"], again, targets[chosen])
        assert drawn == pytest.approx(expected, rel=1e-4)


def test_tables_cross_seeds_and_points_where_predictions_are_kept(shown):
    tables = [table for _, table in shown.tables]
    questions = {c.name: c.decision.question for t in tables for c in t.decisions}
    both = "new seeds and new test points"
    assert questions == {
        **dict.fromkeys(("accuracy", "nll", "brier", "ece", "auroc_ood"), both),
        "mce": "new seeds",
    }
    text = caption(tables[0])
    assert text.startswith(
        "± is half of a 95 % interval over three seeds. Differences: new seeds and new test points"
    )
    (minor,) = [table for table in tables if table.columns[0].name == "mce"]
    assert "new seeds, paired; the test set is taken as given" in caption(minor)


def test_without_predictions_the_test_set_is_taken_as_given(tmp_path):
    runs, _ = classified_runs()
    keep(tmp_path / "cifar10", runs)
    (_, table), *_ = content(read(tmp_path / "cifar10")).tables
    assert {column.decision.question for column in table.decisions} == {"new seeds"}


def test_one_seed_is_about_these_networks(tmp_path):
    keep(tmp_path / "cifar10", *classified_runs(seeds=1))
    (_, table), *_ = content(read(tmp_path / "cifar10")).tables
    assert "these networks on new test points" in caption(table)
    assert table.columns[0].decision.question == "these networks"
    assert table.rows[1].cells[0].standing.state == "worse"


def test_damaged_predictions_and_other_scores_are_not_used(tmp_path):
    runs, predictions = classified_runs()
    other = changed(runs[1], scores={"clean": {"nll": 9.0}})
    store = keep(tmp_path / "s", [runs[0], other], predictions)
    (store.runs / runs[0].key / "predictions.npz").write_bytes(b"PK")
    records = list(store.records())
    assert len(records) == 2
    kept = KeptScores(store, records, "clean")
    assert [kept.of(run, "clean", "nll") for run in records] == [None, None]


def test_memory_is_bounded_and_the_main_condition_comes_first(tmp_path, monkeypatch):
    runs, predictions = classified_runs(methods=("AdamW",), seeds=1)
    store = keep(tmp_path / "s", runs, predictions)
    (run,) = store.records()
    monkeypatch.setattr(point_scores, "MOST_BYTES", 4 * 300 * 3)
    kept = KeptScores(store, [run], "clean")
    assert kept.of(run, "clean", "brier") is not None
    assert kept.of(run, "ood_svhn", "auroc_ood") is None
