"""Agreement of methods from stored predictions."""

import numpy as np
import pytest
import torch

from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.predictions.agreements import agreements
from bnnbench.reports.sections.agreement import choices_of
from tests.reports.synthetic import keep, record


def _kept(folder, predictions, targets):
    """Store runs, given (method, fold, seed) → prediction, and return store and benchmark."""
    runs = {pair: record(pair[0], fold=pair[1], seed=pair[2]) for pair in predictions}
    packed = {runs[pair].key: {"clean": (p, targets)} for pair, p in predictions.items()}
    store = keep(folder, list(runs.values()), packed)
    (benchmark,) = benchmarks(runs.values())
    return store, benchmark


def _classes(rows):
    return CategoricalPredictive(torch.tensor(rows, dtype=torch.float64).log()[None])


def test_pairs_of_classifiers_are_compared_at_every_point(tmp_path):
    predictions = {
        ("A", 0, 0): _classes([[0.9, 0.1], [0.6, 0.4]]),
        ("A", 0, 1): _classes([[0.8, 0.2], [0.4, 0.6]]),
        ("B", 0, 0): _classes([[0.7, 0.3], [0.1, 0.9]]),
    }
    store, benchmark = _kept(tmp_path, predictions, torch.tensor([0, 1]))
    found = agreements(store, benchmark)
    assert found.same_label == {("A", "A"): 0.5, ("A", "B"): 0.5, ("B", "A"): 0.5}
    expected = {("A", "A"): 0.15, ("A", "B"): 0.35, ("B", "A"): 0.35}
    assert found.variation == pytest.approx(expected)
    labels, variation = choices_of(store, benchmark, ("A", "B"))
    assert labels.listing.rows == (("A", "50.0", "50.0"), ("B", "50.0", "–"))
    assert variation.listing.rows[0] == ("A", "0.150", "0.350")


def test_real_predictions_of_several_shapes_are_compared_by_their_cdfs(tmp_path):
    zeros, ones = torch.zeros(1, 80, 1).double(), torch.ones(1, 80, 1).double()
    predictions = {
        ("Gaussian", 0, 0): GaussianPredictive(zeros, ones),
        ("Shifted", 0, 0): GaussianPredictive(zeros + 1, ones),
        ("Student", 0, 0): StudentPredictive(zeros, ones, ones * 1e7),
    }
    store, benchmark = _kept(tmp_path, predictions, torch.zeros(80, 1))
    found = agreements(store, benchmark)
    assert found.same_label == {}
    assert found.variation["Gaussian", "Student"] == pytest.approx(0, abs=1e-6)
    exact = 0.3829249225480262  # 2 Φ(1/2) - 1
    assert exact - 0.01 < found.variation["Shifted", "Gaussian"] <= exact


def test_only_runs_on_the_same_test_rows_are_compared(tmp_path):
    prediction = _classes([[0.9, 0.1], [0.6, 0.4]])
    runs = [record("A"), record("B")]
    packed = {run.key: {"clean": (prediction, torch.tensor([0, k]))} for k, run in enumerate(runs)}
    store = keep(tmp_path, runs, packed)
    (benchmark,) = benchmarks(runs)
    assert agreements(store, benchmark) is None


def test_runs_without_predictions_and_single_runs_have_no_table(tmp_path):
    rng = np.random.default_rng(0)
    runs = [record("A"), record("B"), record("C", seed=int(rng.integers(5)))]
    store = keep(tmp_path, runs)
    (benchmark,) = benchmarks(runs)
    assert agreements(store, benchmark) is None
    assert choices_of(store, benchmark, ("A", "B")) == []
