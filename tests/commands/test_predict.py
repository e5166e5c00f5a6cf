"""Predictions of new rows by a saved model, beside scikit-learn's on the same features."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bnnbench
from bnnbench.commands.predict import main
from bnnbench.commands.running.first_method import fitted
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.methods.libraries.sklearn_ridge import SklearnRidge
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.networks.catalogue import mlp

ROOT = Path(__file__).resolve().parents[2]
FEATURES = ["age", "bmi", "bp", "s1"]


@pytest.fixture(scope="module")
def patients():
    table = load_diabetes(as_frame=True).frame[[*FEATURES, "target"]]
    table["ward"] = np.array(["north", "south", "east"])[np.arange(len(table)) % 3]
    table.loc[::7, "bmi"] = np.nan
    return table


@pytest.fixture(scope="module")
def folder(patients, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    patients.to_csv(folder / "patients.csv", index=False)
    source = own_table(str(folder / "patients.csv"), "target")
    bnnbench.save(fitted(source, "Ridge", SklearnRidge(), mlp([5], 1)), folder / "model")
    return folder


@pytest.fixture(scope="module")
def new_rows(patients):
    """Other columns, another order, a gap, and a ward that no training row has."""
    rows = patients.iloc[[3, 40, 90, 200]][["ward", *FEATURES[::-1]]].assign(name="x")
    rows.loc[rows.index[0], "bmi"] = np.nan
    rows.loc[rows.index[1], "ward"] = "west"
    rows["s1"] += 0.01
    return rows


def of_sklearn(patients, rows):
    """Return mean and deviation by scikit-learn alone."""
    features = make_column_transformer(
        (SimpleImputer(strategy="median", add_indicator=True), FEATURES),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["ward"]),
    )
    model = make_pipeline(features, StandardScaler(), BayesianRidge())
    mean, std = patients["target"].mean(), patients["target"].std(ddof=0)
    model.fit(patients, (patients["target"] - mean) / std)
    predicted, deviation = model.predict(rows, return_std=True)
    return mean + std * predicted, std * deviation


def test_rows_are_prepared_as_in_training(patients, folder, new_rows):
    found = bnnbench.load(folder / "model").predict(new_rows)
    mean, deviation = of_sklearn(patients, new_rows)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-4)
    np.testing.assert_allclose(found["deviation"], deviation, rtol=1e-4)
    np.testing.assert_allclose(found["quantile_0.5"], mean, rtol=1e-4)
    assert list(found.index) == list(new_rows.index)
    assert ((found["quantile_0.95"] - mean) / deviation).between(1.6, 2.1).all()


def test_the_command_writes_what_python_returns(folder, new_rows, capsys):
    new_rows.to_csv(folder / "rows.csv", index=False)
    arguments = [str(folder / "model"), str(folder / "rows.csv"), "--levels", ".1,.9"]
    assert main([*arguments, "--out", str(folder / "out.csv")]) == 0
    assert "4 rows predicted" in capsys.readouterr().out
    written = pd.read_csv(folder / "out.csv")
    expected = bnnbench.load(folder / "model").predict(new_rows, (0.1, 0.9))
    assert list(written) == ["mean", "deviation", "quantile_0.1", "quantile_0.9"]
    pd.testing.assert_frame_equal(written, expected.reset_index(drop=True), rtol=1e-6)


def test_rows_do_not_depend_on_the_rows_beside_them(folder, patients, monkeypatch):
    model = bnnbench.load(folder / "model")
    whole = model.predict(patients)
    monkeypatch.setattr("bnnbench.methods.saved.table_model.ROWS_AT_ONCE", 100)
    pd.testing.assert_frame_equal(model.predict(patients), whole, rtol=1e-6)
    assert model.predict(patients[:0]).columns.tolist() == whole.columns.tolist()


def test_missing_columns_are_named(folder, new_rows, capsys):
    rows = new_rows.drop(columns=["bmi", "ward"])
    with pytest.raises(BadTable, match="'bmi', 'ward'"):
        bnnbench.load(folder / "model").predict(rows)
    rows.to_csv(folder / "lacking.csv", index=False)
    assert main([str(folder / "model"), str(folder / "lacking.csv")]) == 2
    assert "'bmi', 'ward'" in capsys.readouterr().err


def test_a_file_of_rows_is_read_like_the_file_of_the_table(tmp_path):
    rng, rows = np.random.default_rng(0), 40
    dates = pd.date_range("2024-01-05", periods=rows, freq="9D").strftime("%d.%m.%Y")
    area = np.array(["01069", "80331"])[np.arange(rows) % 2]
    size = rng.integers(40, 90, rows)
    price = 3.0 * size + 50 * (area == "80331")
    sizes = [f"{one},5" for one in size]  # decimal commas
    table = pd.DataFrame({"since": dates, "area": area, "size": sizes, "price": price})
    table.to_csv(tmp_path / "flats.csv", index=False, sep=";")
    source = own_table(str(tmp_path / "flats.csv"), "price")
    bnnbench.save(fitted(source, "Ridge", SklearnRidge(), mlp([5], 1)), tmp_path / "model")
    model = bnnbench.load(tmp_path / "model")
    table[["size", "area", "since"]].head(1).to_csv(tmp_path / "one.csv", index=False, sep=";")
    found = model.predict(model.read(str(tmp_path / "one.csv")))
    np.testing.assert_allclose(found["mean"], price[:1], rtol=0.02)
    assert bnnbench.load(tmp_path / "model").preparation == source.preparation()


def test_classes_have_names_and_probabilities(tmp_path):
    table = load_wine(as_frame=True).frame
    table["target"] = np.array(["red", "pink", "white"])[table["target"]]
    table.to_csv(tmp_path / "wine.csv", index=False)
    source = own_table(str(tmp_path / "wine.csv"), "target")
    bnnbench.save(fitted(source, "Frequency", Marginal(), mlp([5], 3)), tmp_path / "model")
    found = bnnbench.load(tmp_path / "model").predict(table[:2])
    assert list(found) == ["class", "p_pink", "p_red", "p_white"]
    assert list(found["class"]) == ["pink"] * 2  # 71 of 178
    counts = table["target"].value_counts() + 1  # the rule of succession
    for name, count in counts.items():
        np.testing.assert_allclose(found[f"p_{name}"], count / counts.sum(), rtol=1e-5)


def test_what_is_no_model_of_a_table_says_so(tmp_path, folder, capsys):
    bnnbench.save(bnnbench.load(folder / "model").posterior, tmp_path / "alone")
    assert main([str(tmp_path / "alone"), str(folder / "patients.csv")]) == 2
    assert "without the columns of a table" in capsys.readouterr().err
    assert main([str(tmp_path / "none"), str(folder / "patients.csv")]) == 2
    assert "there is no file posterior.json" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(folder / "model"), str(folder / "patients.csv"), "--levels", "90"])


@pytest.mark.long
def test_a_model_of_the_users_network_is_loaded_with_permission(patients, tmp_path):
    (tmp_path / "own_net.py").write_text(
        "from torch import nn\n\n\n"
        "def net(inputs, outputs):\n    return nn.Sequential(nn.Linear(inputs, outputs))\n"
    )
    patients.head(60).to_csv(tmp_path / "few.csv", index=False)
    short = ["--methods", "AdamW(trials=1; blocks=1; lengths=(4,))", "--folds", "1", "--no-report"]
    compared = run(
        tmp_path, "compare", "few.csv", "--target", "target", "--network", "own_net.py:net", *short
    )
    (command,) = (line for line in compared.stdout.splitlines() if "bnnbench predict" in line)
    arguments = command.replace("rows.csv", "few.csv").split()[1:]
    assert run(tmp_path, *arguments).returncode == 0
    assert len(pd.read_csv(tmp_path / "predicted.csv")) == 60
    refused = run(tmp_path, *(one for one in arguments if "--network" not in one))
    assert refused.returncode == 2
    assert "networks=[net]" in refused.stderr


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "bnnbench", *arguments],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
