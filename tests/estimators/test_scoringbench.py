"""Models for ScoringBench, called as its runner calls them."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.model_selection import KFold

from bnnbench.estimators import scoringbench as module
from bnnbench.estimators.scoringbench import ScoringBenchRegressor, entries
from bnnbench.suites.uci.tuned import LEAGUE

RNG = np.random.default_rng(0)
ROWS = 60
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(5, 2, ROWS),
        "age": np.where(np.arange(ROWS) % 7, RNG.integers(1, 90, ROWS), np.nan),
        "town": pd.Categorical(RNG.choice(["north", "south", "east"], ROWS)),
    }
)
TARGETS = pd.Series(3 * TABLE["size"] + RNG.normal(0, 1, ROWS) + 100, name="price")


def by_bins(dist, y: np.ndarray) -> dict[str, float]:
    """Return scores from the masses and the edges alone, each bin's mass spread evenly."""
    widths = np.diff(dist.bin_edges, axis=1)
    fine = dist.bin_edges[:, :-1, None] + widths[..., None] * (np.arange(20) + 0.5) / 20
    below = np.cumsum(dist.probas, 1) - dist.probas
    cdf = below[..., None] + dist.probas[..., None] * (np.arange(20) + 0.5) / 20
    squares = (cdf - (fine >= y[:, None, None])) ** 2
    crps = (squares * widths[..., None] / 20).sum((1, 2))
    at = (y[:, None] >= dist.bin_edges[:, :-1]) & (y[:, None] < dist.bin_edges[:, 1:])
    density = (dist.probas / widths)[at]
    levels = np.concatenate([np.zeros((len(y), 1)), dist.probas.cumsum(1)], 1)
    ends = [
        np.array([np.interp(p, c, e) for c, e in zip(levels, dist.bin_edges, strict=True)])
        for p in (0.05, 0.95)
    ]
    covered = ((ends[0] <= y) & (y <= ends[1])).mean()
    return {"crps": crps.mean(), "log_score": -np.log(density).mean(), "coverage_90": covered}


def run_fold(factory, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Fit and score a model as the board's runner does."""
    model = factory()
    model.fit(TABLE.iloc[train], TARGETS.iloc[train])
    y = np.asarray(TARGETS.iloc[test], dtype=float)
    try:
        dist = model.predict_distribution(TABLE.iloc[test])
    except NotImplementedError:
        return {"rmse": np.sqrt(np.mean((y - model.predict(TABLE.iloc[test])) ** 2))}
    scores = {"rmse": np.sqrt(np.mean((y - dist.mean) ** 2))}
    scores["mae"] = np.abs(y - dist.median).mean()
    for view in (dist.native, dist.resampled):
        scores |= by_bins(view, y)
    return scores


@pytest.fixture(scope="module")
def fold():
    return next(iter(KFold(5, shuffle=True, random_state=42).split(TABLE)))


def test_a_model_is_scored_by_the_runner_as_by_its_density(fold):
    train, test = fold
    scores = run_fold(lambda: ScoringBenchRegressor("sklearn_ridge"), train, test)
    model = ScoringBenchRegressor("sklearn_ridge").fit(TABLE.iloc[train], TARGETS.iloc[train])
    mean, std = model.model.predict(TABLE.iloc[test], return_std=True)
    y = TARGETS.iloc[test].to_numpy()
    z = (y - mean) / std
    law = stats.norm
    crps = std * (z * (2 * law.cdf(z) - 1) + 2 * law.pdf(z) - 1 / np.sqrt(np.pi))
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)), rel=1e-12)
    assert scores["mae"] == pytest.approx(np.abs(y - mean).mean(), rel=1e-9)
    assert scores["crps"] == pytest.approx(crps.mean(), rel=1e-3)
    assert scores["log_score"] == pytest.approx(-law.logpdf(y, mean, std).mean(), rel=2e-3)
    covered = np.abs(z) <= law.ppf(0.95)
    assert scores["coverage_90"] == pytest.approx(covered.mean())


def test_masses_sum_to_one_and_the_ends_have_the_tails(fold):
    train, test = fold
    model = ScoringBenchRegressor("sklearn_ridge", bins=50)
    dist = model.fit(TABLE.iloc[train], TARGETS.iloc[train]).predict_distribution(TABLE.iloc[test])
    assert dist.probas.shape == (len(test), 50)
    assert dist.bin_edges.shape == (len(test), 51)
    np.testing.assert_allclose(dist.probas.sum(1), 1, rtol=1e-12)
    mean, std = model.model.predict(TABLE.iloc[test], return_std=True)
    np.testing.assert_allclose(dist.bin_edges[:, 0], mean + std * stats.norm.ppf(1e-6))
    first = stats.norm.cdf((dist.bin_edges[:, 1] - mean) / std)
    np.testing.assert_allclose(dist.probas[:, 0], first, rtol=1e-6)
    assert dist.train_range == (TARGETS.iloc[train].min(), TARGETS.iloc[train].max())
    middles = dist.bin_edges[:, :-1] + np.diff(dist.bin_edges) / 2
    np.testing.assert_allclose(dist.bin_midpoints, middles)


def test_a_method_without_a_distribution_is_scored_by_its_point_predictions(fold):
    scores = run_fold(lambda: ScoringBenchRegressor("conformal(method=sklearn_ridge())"), *fold)
    assert list(scores) == ["rmse"]


def test_every_method_of_the_league_is_an_entry_with_a_name_for_files():
    factories = entries()
    assert len(factories) == len(LEAGUE.methods)
    assert all(name.replace("_", "").isalnum() and name.isascii() for name in factories)
    assert factories["bnnbench_training_mean"]().model.method == LEAGUE.methods["Training mean"]
    assert factories["bnnbench_pbp"]() is not factories["bnnbench_pbp"]()


def test_an_entry_runs_with_its_search(fold):
    scores = run_fold(entries()["bnnbench_training_mean"], *fold)
    train, test = (TARGETS.to_numpy()[rows] for rows in fold)
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean((test - train.mean()) ** 2)), rel=1e-6)
    # A constant Gaussian, whose noise is at least the spread of the targets up to a factor.
    assert scores["crps"] == pytest.approx(0.6 * train.std(), rel=0.5)


def test_the_board_is_not_imported():
    tree = ast.parse(Path(module.__file__).read_text())
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {getattr(n, "module", None) or n.names[0].name for n in imports}
    assert not any(name.split(".")[0] == "scoringbench" for name in names)
