"""Published files of the board's form, beside ours."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bnnbench.commands.export import main
from bnnbench.reports.public_board import columns
from bnnbench.reports.public_board.comparison import beside, paired, same_rows
from bnnbench.reports.public_board.published import read_published
from bnnbench.reports.public_board.rows import rows_of
from tests.reports.public_board.board import store_of


@pytest.fixture(scope="module", autouse=True)
def few_columns():
    """Compute three columns alone; `test_rows` has all of them."""
    scores = columns._scores()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_scores", lambda: {n: scores[n] for n in ("rmse", "r2", "crps")})
        patch.setattr(columns, "_by_bins", lambda prediction, target: {"coverage_90": 0.9})
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a folder of results of two methods."""
    folder = tmp_path_factory.mktemp("results")
    store_of(folder / "uci", {"AdamW": 0.5, "PBP": 0.7})
    return folder


@pytest.fixture(scope="module")
def ours(results):
    from bnnbench.engine.store.store import Store

    store = Store(results / "uci")
    return rows_of(store, store.records())


def published_from(ours: pd.DataFrame, lead: float) -> pd.DataFrame:
    """Return rows of another model on the same folds: a better CRPS, another error."""
    rows = ours[ours["model"] == "bnnbench_adamw"][["dataset", "fold", "rmse", "r2", "crps"]].copy()
    variance = rows["rmse"] ** 2 / (1 - rows["r2"])
    noise = np.random.default_rng(0).normal(0, 0.05, len(rows))
    rows["crps"] -= lead + noise
    rows["rmse"] *= 0.9
    rows["r2"] = 1 - rows["rmse"] ** 2 / variance
    return rows


@pytest.fixture
def folder(ours, tmp_path):
    """Return a folder of published files, one without a column for the model."""
    table = published_from(ours, 0.3)
    table.assign(model="tabpfn_v3").to_parquet(tmp_path / "tabpfn_v3.parquet")
    (tmp_path / "raw" / "ngboost").mkdir(parents=True)
    moved = table.assign(rmse=1.01 * table["rmse"], model="ngboost")
    moved.to_parquet(tmp_path / "raw" / "ngboost" / "boston.parquet")
    models = [{"model_name": "tabpfn_v3", "organization": "Prior Labs"}]
    (tmp_path / "models.json").write_text(json.dumps(models))
    return tmp_path


def test_published_rows_have_their_model_and_publisher(folder):
    table = read_published(folder)
    assert dict(zip(table["model"], table["by"], strict=True)) == {
        "tabpfn_v3": "Prior Labs",
        "ngboost": "publisher not stated",
    }


def test_the_file_names_the_model_if_no_column_does_and_names_of_sets_may_differ(ours, tmp_path):
    table = published_from(ours, 0.3).assign(dataset="Boston")
    table.to_parquet(tmp_path / "mitra2.parquet")
    read = read_published(tmp_path)
    assert set(read["model"]) == {"mitra2"}
    assert set(read["dataset"]) == {"boston"}


def test_errors_and_repeated_rows_are_left_out(ours, tmp_path):
    table = published_from(ours, 0.3).assign(model="nori", error=None)
    table.loc[table.index[0], "error"] = "out of memory"
    again = table.iloc[[1]].assign(crps=9.0)
    pd.concat([table, again]).to_parquet(tmp_path / "nori.parquet")
    read = read_published(tmp_path)
    assert read["fold"].tolist() == [2, 3, 4, 1]
    assert read["crps"].iloc[-1] == 9.0


def test_same_test_rows_are_known_by_the_variance_of_their_targets(ours, folder):
    published = read_published(folder)
    mine = ours[ours["model"] == "bnnbench_pbp"]
    theirs, moved = (published[published["model"] == m] for m in ("tabpfn_v3", "ngboost"))
    assert same_rows(mine, theirs)
    assert not same_rows(mine, moved)
    assert not same_rows(mine, theirs.iloc[1:])
    assert not same_rows(mine, theirs.drop(columns="r2"))


def test_paired_differences_have_students_interval_with_the_overlap(ours, folder):
    [row, other] = paired(ours, read_published(folder), "crps")
    gaps = 0.3 + np.random.default_rng(0).normal(0, 0.05, 5)
    half = stats.t.ppf(0.975, 4) * gaps.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert row[:4] == ("boston", "bnnbench_adamw", "tabpfn_v3", "Prior Labs")
    assert row[4] == f"{gaps.mean():+.3f} ± {half:.3f}"
    assert row[5:] == ("5", "worse")
    assert other[1] == "bnnbench_pbp"


def test_all_models_stand_beside_ours_the_best_first(ours, folder):
    rows = beside(ours, read_published(folder), "crps")
    assert [(model, by) for _, model, by, *_ in rows] == [
        ("ngboost", "published: publisher not stated"),
        ("tabpfn_v3", "published: Prior Labs"),
        ("bnnbench_adamw", "ours"),
        ("bnnbench_pbp", "ours"),
    ]
    best = beside(ours, read_published(folder), "r2")
    assert [row[1] for row in best][-1] == "bnnbench_pbp"


def test_the_command_writes_files_and_prints_what_is_and_is_not_compared(
    results, folder, tmp_path, capsys
):
    out = tmp_path / "ours"
    code = main([str(results), "--out", str(out), "--published", str(folder)])
    printed = capsys.readouterr().out
    assert code == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == ["bnnbench_adamw.parquet", "bnnbench_pbp.parquet"]
    assert "published: Prior Labs" in printed
    assert "boston: other test rows than ours, so not compared: ngboost" in printed


@pytest.mark.parametrize("metric", ["coverage_90", "fit_time", "nonsense"])
def test_a_metric_without_a_direction_is_refused(metric, results, folder, tmp_path, capsys):
    given = ["--published", str(folder), "--metric", metric, "--out", str(tmp_path / "x")]
    assert main([str(results), *given]) == 2
    assert "choose one of" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_damaged_run_is_named_and_the_others_are_written(tmp_path, capsys):
    store = store_of(tmp_path / "results" / "uci", {"AdamW": 0.5}, 2)
    first = next(iter(store.run_keys()))
    (store.runs / first / "record.json").write_text("{")
    assert main([str(tmp_path / "results"), "--out", str(tmp_path / "out")]) == 3
    printed = capsys.readouterr()
    assert f"damaged: {first}" in printed.err
    assert "1 row of 1 model" in printed.out


def lfs(path):
    (path / "a.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")


def truncated(path):
    pd.DataFrame({"dataset": ["boston"], "fold": [0]}).to_parquet(path / "a.parquet")
    (path / "a.parquet").write_bytes((path / "a.parquet").read_bytes()[:-20])


def foreign(path):
    pd.DataFrame({"x": [1]}).to_parquet(path / "a.parquet")


def elsewhere(path):
    pd.DataFrame({"dataset": ["abalone"], "fold": [0]}).to_parquet(path / "a.parquet")


def no_list(path):
    pd.DataFrame({"dataset": ["boston"], "fold": [0]}).to_parquet(path / "a.parquet")
    (path / "models.json").write_text('{"a": 1}')


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "has no parquet files"),
        (lfs, "git lfs pull"),
        (truncated, "cannot be read as parquet"),
        (foreign, "has no dataset and no fold|has no fold and no dataset"),
        (elsewhere, "has no scores on boston"),
        (no_list, "is not a list of models"),
    ],
)
def test_folders_that_hold_no_results_are_refused_with_a_reason(make, message, tmp_path):
    make(tmp_path)
    with pytest.raises(ValueError, match=message):
        read_published(tmp_path)
