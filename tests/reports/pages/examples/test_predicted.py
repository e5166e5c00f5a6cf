"""Means over seeds, compared with sums written out and draws of the mixture."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.reports.pages.examples.predicted import joined, predicted
from tests.reports.synthetic import classified, keep, record, regressed

SCALE = {"name": "price", "unit": "$", "mean": 2000.0, "std": 0.5}


def test_probabilities_and_log_scores_are_means_over_seeds(tmp_path):
    rng = np.random.default_rng(0)
    prediction, targets = classified(rng, 1.0, 30)
    others = [CategoricalPredictive(torch.randn(3, 30, 10).log_softmax(2)) for _ in range(2)]
    each = [prediction, *others]
    runs = [record(seed=seed) for seed in range(3)]
    predictions = {r.key: {"clean": (p, targets)} for r, p in zip(runs, each, strict=True)}
    store = keep(tmp_path, runs, predictions)
    found = predicted(store, store.records(), ["clean"])["clean"][0]
    mixtures = [p.log_probs.double().exp().mean(0).numpy() for p in each]
    np.testing.assert_allclose(found.answers, np.mean(mixtures, 0), rtol=1e-10)
    of_targets = [np.log(m[np.arange(30), targets.numpy()]) for m in mixtures]
    np.testing.assert_allclose(found.scores, np.mean(of_targets, 0), rtol=1e-10)
    assert found.seeds == (0, 1, 2)


def test_moments_agree_with_the_mixture_in_the_targets_unit(tmp_path):
    rng = np.random.default_rng(1)
    (one, targets), (other, _) = regressed(rng, 0.1, 0.3, 4), regressed(rng, 0.5, 0.2, 4)
    runs = [record(seed=seed, target=SCALE) for seed in range(2)]
    predictions = {r.key: {"clean": (p, targets)} for r, p in zip(runs, (one, other), strict=True)}
    store = keep(tmp_path, runs, predictions)
    found = predicted(store, store.records(), ["clean"])["clean"][0]
    means = [2000 + 0.5 * p.means[0, :, 0].numpy() for p in (one, other)]
    spreads = [0.5 * p.variances[0, :, 0].sqrt().numpy() for p in (one, other)]
    draws = np.concatenate(
        [m + s * rng.standard_normal((400_000, 4)) for m, s in zip(means, spreads, strict=True)]
    )
    np.testing.assert_allclose(found.answers[:, 0], np.mean(means, 0), rtol=1e-12)
    np.testing.assert_allclose(found.answers[:, 1], draws.std(0), rtol=5e-3)
    values = 2000 + 0.5 * targets[:, 0].numpy()
    np.testing.assert_allclose(found.targets, values, rtol=1e-12)
    logs = [norm.logpdf(values, m, s) for m, s in zip(means, spreads, strict=True)]
    np.testing.assert_allclose(found.scores, np.mean(logs, 0), rtol=1e-9)


def test_a_spread_that_is_tiny_beside_its_mean_keeps_its_digits(tmp_path):
    targets = torch.zeros(2, 1)
    tiny = GaussianPredictive(torch.zeros(1, 2, 1), torch.full((1, 2, 1), 1e-8))
    run = record(target=SCALE | {"mean": 1e6})
    store = keep(tmp_path, [run], {run.key: {"clean": (tiny, targets)}})
    found = predicted(store, store.records(), ["clean"])
    np.testing.assert_allclose(found["clean"][0].answers[:, 1], 0.5e-4, rtol=1e-6)


def test_runs_that_give_nothing_are_left_out(tmp_path):
    rng = np.random.default_rng(2)
    prediction, targets = classified(rng, 1.0, 20)
    nan = CategoricalPredictive(torch.full((1, 20, 10), torch.nan))
    good, bad, other, none, failed = runs = [
        *(record(seed=0), record(seed=1), record(seed=2), record(seed=3)),
        record(seed=4, status="diverged", scores={}, error="it diverged"),
    ]
    shifted = (targets + 1) % 10
    predictions = {
        good.key: {"clean": (prediction, targets)},
        bad.key: {"clean": (nan, targets)},
        other.key: {"clean": (prediction, shifted)},
        failed.key: {"clean": (prediction, targets)},
    }
    assert none.key not in predictions
    store = keep(tmp_path, runs, predictions)
    found = predicted(store, sorted(store.records(), key=lambda r: r.seed), ["clean", "absent"])
    assert list(found) == ["clean"]
    assert found["clean"][0].seeds == (0,)


def test_predictions_without_a_log_score_or_moments_are_left_out(tmp_path):
    targets = torch.zeros(3, 1)
    values = torch.tensor([-1.0, 0.0, 1.0]).expand(3, 1, 3).contiguous()
    quantiles = QuantilePredictive(torch.tensor([0.1, 0.5, 0.9]), values)
    runs = [record(), record("SGD", target=SCALE)]
    store = keep(tmp_path, runs, {r.key: {"clean": (quantiles, targets)} for r in runs})
    assert predicted(store, store.records(), ["clean"]) == {}


def test_a_damaged_file_is_left_out(tmp_path):
    prediction = classified(np.random.default_rng(3), 1.0, 20)
    run = record()
    store = keep(tmp_path, [run], {run.key: {"clean": prediction}})
    (store.runs / run.key / "predictions.npz").write_bytes(b"no predictions")
    assert predicted(store, store.records(), ["clean"]) == {}


def test_folds_are_joined_in_the_order_given(tmp_path):
    rng = np.random.default_rng(4)
    runs = [record(fold=fold) for fold in range(3)]
    kept = {r.key: {"clean": classified(rng, 1.0, 5 + r.fold)} for r in runs}
    store = keep(tmp_path, runs, kept)
    folds = predicted(store, store.records(), ["clean"])["clean"]
    both = joined(folds, [0, 2])
    assert list(folds) == [0, 1, 2]
    np.testing.assert_array_equal(both.targets[:5], kept[runs[0].key]["clean"][1].numpy())
    np.testing.assert_array_equal(both.targets[5:], kept[runs[2].key]["clean"][1].numpy())
    assert both.scores.mean() == pytest.approx(
        np.concatenate([folds[0].scores, folds[2].scores]).mean()
    )
