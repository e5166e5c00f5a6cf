"""Bands of calibrated predictions in figures."""

import numpy as np
import pytest
import torch

from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.reports.figures import quantiles, reliability, selective
from bnnbench.reports.figures.evidence import Evidence, gather, levels
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.predictions import _distinct
from bnnbench.reports.style.palette import styles
from tests.reports.synthetic import classified, keep, record, regressed

STYLES = styles(["A"])


def _gathered(folder, predictions, facts):
    """Store runs, given (fold, seed) → predictions, and return their evidence and benchmark."""
    runs = {at: record("A", fold=at[0], seed=at[1], facts=facts) for at in predictions}
    packed = {runs[at].key: {"clean": made} for at, made in predictions.items()}
    store = keep(folder, list(runs.values()), packed)
    (benchmark,) = benchmarks(runs.values())
    return gather(store, benchmark.runs["A"]), benchmark


@pytest.mark.parametrize(
    ("folds", "seeds", "rows", "expected"),
    [(1, 3, 1000, 60), (4, 1, 1000, 240), (4, 2, 1000, 240), (4, 2, 100, 100), (1, 2, 10, 60)],
)
def test_a_test_point_counts_once_whatever_the_seeds(tmp_path, folds, seeds, rows, expected):
    rng = np.random.default_rng(0)
    made = {(f, s): regressed(rng, 0.3, 0.3) for f in range(folds) for s in range(seeds)}
    facts = {"train_rows": rows - 5, "test_rows": 5}
    evidence, benchmark = _gathered(tmp_path, made, facts)
    assert _distinct(benchmark, evidence) == expected


def _reliable(sharpness):
    prediction, targets = classified(np.random.default_rng(1), sharpness, 4000)
    evidence = Evidence()
    evidence.add("clean", prediction, targets)
    return reliability.draw("A", evidence.reliability, STYLES["A"], "x", "data")


def test_calibrated_classes_lie_in_the_band_and_overconfident_ones_do_not():
    assert "; 0 of " in _reliable(1.0).caption
    outside = int(_reliable(3.0).caption.split("; ")[1].split(" of ")[0])
    assert outside >= 5
    assert "outside the band of calibrated predictions" in _reliable(3.0).svg


@pytest.mark.parametrize(("claimed", "text"), [(0.3, "0 of 1"), (0.6, "1 of 1")])
def test_curves_of_too_wide_predictions_leave_the_band(claimed, text):
    prediction, targets = regressed(np.random.default_rng(2), 0.3, claimed, 2000)
    observed = (prediction.cdf(targets).numpy() <= levels()).mean(0)
    drawn = quantiles.draw({"A": observed}, STYLES, "x", "data", 2000.0)
    assert drawn.caption == f"{text} methods leave the band"


def test_without_the_number_of_points_there_is_no_band():
    drawn = quantiles.draw({"A": levels()}, STYLES, "x", "data")
    assert drawn.caption == ""
    assert "band" not in drawn.svg


def test_squared_errors_are_shares_of_those_of_all_points(tmp_path):
    deviations = torch.linspace(0.1, 2, 100).double()[:, None]
    prediction = GaussianPredictive(deviations[None], deviations.square()[None])
    evidence, _ = _gathered(tmp_path, {(0, 0): (prediction, torch.zeros(100, 1))}, {})
    (errors,) = evidence.squared_errors
    squares = np.linspace(0.1, 2, 100) ** 2
    assert errors[-1] == pytest.approx(squares.mean())
    assert errors[24] == pytest.approx(squares[:50].mean())
    drawn = selective.draw_squared_errors({"A": errors}, STYLES, "x", "data")
    assert f"A {100 * squares[:50].mean() / squares.mean():.3g} and 100" in drawn.svg


def test_a_run_with_a_damaged_condition_counts_nowhere(tmp_path):
    rng = np.random.default_rng(0)
    whole, broken = record("A", seed=0), record("A", seed=1)
    nan = CategoricalPredictive(torch.full((1, 400, 10), torch.nan))
    good, other = ({"clean": classified(rng, 1.0)} for _ in range(2))
    other["shifted"] = (nan, other["clean"][1])
    store = keep(tmp_path, [whole, broken], {whole.key: good, broken.key: other})
    evidence = gather(store, list(store.records()))
    assert (evidence.runs, evidence.points, len(evidence.risks)) == (1, 400, 1)
    assert [key for key, _ in evidence.unreadable] == [broken.key]
    assert evidence.reliability.count.sum() == 400
