"""`bnnbench own` from a csv to a report, for numbers and for classes."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from bnnbench.suites.engine.store.store import Store
from bnnbench.suites.own.__main__ import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables: dict[str, Any] = {"patients": load_diabetes, "wine": load_wine}
    for name, load in tables.items():
        load(as_frame=True).frame.to_csv(f"{name}.csv", index=False)
    return tmp_path


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bnnbench", "own", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("file", "methods", "metric"),
    [("patients.csv", "Training mean,AdamW", "rmse"), ("wine.csv", "Class frequency,AdamW", "nll")],
)
def test_a_csv_becomes_a_report(folder, file, methods, metric):
    answer = command(
        file, "--target", "target", "--methods", methods, "--folds", "2", "--executor", "serial"
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    records = list(Store(folder / "results" / "own").records())
    assert {r.status for r in records} == {"completed"}
    assert {r.origin for r in records} == {"own"}
    best, worst = (
        [r.scores["clean"][metric] for r in records if r.method == label]
        for label in reversed(methods.split(","))
    )
    assert max(best) < min(worst)
    page = (folder / "results" / "own" / "report.html").read_text()
    assert file.removesuffix(".csv") in page


def test_mistakes_are_usage_errors(folder, capsys):
    assert main(["none.csv", "--target", "y"]) == 2
    assert "none.csv" in capsys.readouterr().err
    assert main(["wine.csv", "--target", "grape"]) == 2
    assert "no column 'grape'" in capsys.readouterr().err
    assert not (folder / "results").exists()


def test_features_from_anywhere_come_as_npz(folder):
    wine = load_wine()
    split = np.where(np.arange(len(wine.target)) % 5, "train", "test")
    order = np.random.default_rng(0).permutation(len(split))
    arrays = {"features": wine.data[order], "kind": wine.target[order], "split": split}
    np.savez(folder / "wine.npz", **arrays)
    answer = command(
        *("wine.npz", "--target", "kind", "--split", "split", "--methods", "AdamW"),
        *("--executor", "serial", "--limit", "100"),
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (record,) = Store(folder / "results" / "own").records()
    assert record.facts["features"] == wine.data.shape[1]
    assert record.facts["test_rows"] == 36
    assert record.scores["clean"]["accuracy"] > 0.8
