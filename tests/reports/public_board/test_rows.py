"""Finished runs in the board's columns."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn import metrics as sk

from bnnbench.datasets.cuts.shuffled_folds import ShuffledFolds
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.description import describe
from bnnbench.estimators.scoringbench_names import model_name
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.reports.public_board.columns import columns_of
from bnnbench.reports.public_board.rows import by_the_protocol, rows_of, write_models
from tests.records import changed
from tests.reports.public_board.board import LEVEL, SOURCE, UNIT, predicted, run, store_of
from tests.reports.synthetic import keep


def test_the_source_of_the_profile_is_the_protocol():
    assert describe(ShuffledFolds(Uci("boston"))) == SOURCE
    assert by_the_protocol(run("AdamW", 0))
    assert not by_the_protocol(run("AdamW", 0, source=SOURCE | {"seed": 7}))
    assert not by_the_protocol(run("AdamW", 0, source={"type": "uci", "name": "boston"}))
    assert not by_the_protocol(run("AdamW", 0, dataset="yacht"))
    assert not by_the_protocol(run("AdamW", 0, origin="stand-in"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    store = store_of(tmp_path_factory.mktemp("board") / "uci", {"AdamW": 0.5}, 2)
    return rows_of(store, store.records())


def test_columns_have_their_definitions_in_units_of_the_target(table):
    [row] = table[(table["model"] == "bnnbench_adamw") & (table["fold"] == 1)].to_dict("records")
    prediction, targets = predicted(1, 0.5)
    y = LEVEL + UNIT * targets[:, 0].numpy()
    mean, std = LEVEL + UNIT * prediction.mean[:, 0].numpy(), UNIT * 0.5
    assert row["dataset"] == "boston"
    assert row["rmse"] == pytest.approx(np.sqrt(sk.mean_squared_error(y, mean)))
    assert row["mae"] == pytest.approx(sk.mean_absolute_error(y, mean))
    assert row["r2"] == pytest.approx(sk.r2_score(y, mean))
    assert row["log_score"] == pytest.approx(-stats.norm.logpdf(y, mean, std).mean())
    assert (row["sharpness"], row["dispersion"]) == pytest.approx((std, 0), abs=1e-9)
    inside = np.abs(y - mean) <= std * stats.norm.ppf(0.6)
    assert row["coverage_20"] == pytest.approx(inside.mean())
    pinball = [sk.mean_pinball_loss(y, mean + std * stats.norm.ppf(a), alpha=a) for a in (0.1, 0.9)]
    assert row["interval_score_80"] == pytest.approx(2 * sum(pinball) / 0.2)
    # Three ways to the same score: closed form, thresholds, bins.
    assert row["crts_alpha_2.0"] == pytest.approx(row["crps"], rel=1e-6)
    assert row["energy_score_beta_1.0"] == pytest.approx(row["crps"], rel=1e-5)
    assert row["wcrps_left"] + 2 * row["wcrps_center"] + row["wcrps_right"] == pytest.approx(
        row["crps"], rel=1e-6
    )
    assert (row["fit_time"], row["predict_time"], row["train_time"]) == (2.0, 0.1, 2.1)


@pytest.mark.long
def test_a_tsallis_score_is_the_integral_of_its_loss():
    prediction, targets = predicted(0, 0.5)
    x = np.linspace(-12, 12, 200_001)

    def loss(f, q, a):
        return (f**a + (1 - f) ** a - 1) / a - (np.where(q, f, 1 - f) ** (a - 1) - 1) / (a - 1)

    scores = [
        np.trapezoid(loss(stats.norm.cdf(x, m, 0.5), x >= y, 1.2), x)
        for m, y in zip(prediction.mean[:5, 0].tolist(), targets[:5, 0].tolist(), strict=True)
    ]
    first = type(prediction)(prediction.means[:, :5], prediction.variances[:, :5])
    found = columns_of(first, targets[:5])["crts_alpha_1.2"]
    assert found == pytest.approx(np.mean(scores), rel=1e-4)


def test_each_model_has_a_file_with_its_rows(table, tmp_path):
    other = table.assign(model="bnnbench_mc_dropout")
    paths = write_models(pd.concat([other, table]), tmp_path)
    names = [path.name for path in paths]
    assert names == ["bnnbench_adamw.parquet", "bnnbench_mc_dropout.parquet"]
    written = pd.read_parquet(paths[1])
    assert written["fold"].tolist() == [0, 1]
    assert set(written["model"]) == {"bnnbench_mc_dropout"}
    assert not written.isna().any(axis=None)


@pytest.mark.long
def test_seeds_are_averaged_and_a_failed_run_leaves_its_error(tmp_path):
    runs = [run("AdamW", 0, seed=seed) for seed in (0, 1)]
    failed = changed(run("AdamW", 1), status="diverged", error="the loss became NaN", scores={})
    given = {r.key: {"clean": predicted(0, e)} for r, e in zip(runs, (0.2, 0.6), strict=True)}
    store = keep(tmp_path / "uci", [*runs, failed], given)
    first, second = rows_of(store, store.records()).to_dict("records")
    alone = []
    for error in (0.2, 0.6):
        prediction, targets = predicted(0, error)
        alone.append(UNIT * (prediction.mean - targets).square().mean().sqrt().item())
    assert first["rmse"] == pytest.approx(np.mean(alone))
    assert (second["fold"], second["error"]) == (1, "the loss became NaN")
    assert second["error_type"] == "diverged"
    assert np.isnan(second["rmse"])


def test_what_a_prediction_cannot_answer_is_left_out():
    levels = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)
    grid = torch.tensor([[[-1.0, 0.0, 1.0]]], dtype=torch.float64)
    columns = columns_of(QuantilePredictive(levels, grid), torch.zeros(1, 1).double())
    assert columns["interval_score_90"] == 2.0
    assert columns["mae"] == 0.0
    unknown = ("rmse", "r2", "log_score", "crls", "interval_score_95", "cde_loss", "sharpness")
    assert all(columns[name] is None for name in unknown)


def test_runs_of_other_profiles_and_lost_predictions_are_named(tmp_path):
    other = keep(tmp_path / "a", [run("AdamW", 0, source={"type": "uci", "name": "boston"})])
    with pytest.raises(ValueError, match="bnnbench uci --profile scoringbench"):
        rows_of(other, other.records())
    lost = keep(tmp_path / "b", [run("AdamW", 0)])
    with pytest.raises(ValueError, match="AdamW on boston, fold 0: its predictions"):
        rows_of(lost, lost.records())


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("IVON@mean", "bnnbench_ivon_at_mean"),
        ("PCA+ESS", "bnnbench_pca_ess"),
        ("CIBER (last)", "bnnbench_ciber_last"),
    ],
)
def test_labels_become_names_of_files(label, name):
    assert model_name(label) == name
