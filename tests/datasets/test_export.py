"""Rows for another program: content, names and digest; no target of a test row leaks."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from bnnbench.commands.data import main
from bnnbench.datasets import SOURCES, source
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.export import export
from bnnbench.datasets.generated.two_moons import TwoMoons
from bnnbench.datasets.raw_rows import RawRows, raw_rows
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsMnist


@pytest.fixture(autouse=True)
def _offline(monkeypatch, folder):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_exported_rows_are_the_rows_of_the_publisher_to_the_last_bit(tmp_path, kind):
    export(DiabetesAsUci(), 3, tmp_path / "rows", kind, with_test_targets=True)
    published: Any = load_diabetes(scaled=False)
    known = {tuple(row): y for row, y in zip(published.data, published.target, strict=True)}
    seen = 0
    for part in ("train", "test"):
        inputs, targets = read(tmp_path / "rows" / f"{part}.{kind}")
        for row, target in zip(inputs, targets, strict=True):
            assert known[tuple(row)] == target
        seen += len(inputs)
    assert seen == len(known) == 442


def read(path):
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return arrays["inputs"], arrays["target"]
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    inputs = table[[name for name in table.columns if name.startswith("x")]]
    return inputs.to_numpy(), table["target"].to_numpy()


def test_standardised_rows_are_the_exported_ones_in_their_order(tmp_path):
    rows, data = raw_rows(DiabetesAsUci(), 5), DiabetesAsUci().load(5)
    inputs = (rows.test_inputs - rows.train_inputs.mean(0)) / rows.train_inputs.std(0)
    np.testing.assert_allclose(data.test.inputs, inputs, rtol=1e-5, atol=1e-6)
    targets = (rows.test_targets - rows.train_targets.mean()) / rows.train_targets.std()
    np.testing.assert_allclose(data.test.targets[:, 0], targets, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cut", [lambda one: one, lambda one: Limited(one, train=40, test=12)])
def test_images_are_bytes_in_the_order_of_the_labels(tmp_path, cut):
    digits = cut(DigitsAsMnist())
    export(digits, 0, tmp_path / "rows", with_test_targets=True)
    data = digits.load(0)
    with np.load(tmp_path / "rows" / "test.npz") as arrays:
        assert arrays["inputs"].dtype == np.uint8
        assert arrays["inputs"].shape == (len(data.test), 28, 28, 1)
        np.testing.assert_array_equal(arrays["target"], data.test.targets)
        scaled = (arrays["inputs"] / 255 - data.scaling.mean.item()) / data.scaling.std.item()
        np.testing.assert_allclose(data.test.inputs[:, 0], scaled[..., 0], atol=1e-5)


def test_sources_without_files_are_scaled_back(tmp_path):
    rows = raw_rows(TwoMoons(), 1)
    np.testing.assert_allclose(rows.test_inputs, TwoMoons().load(1).test.inputs)
    assert rows.classes == 2
    assert set(rows.test_targets) == {0, 1}


@pytest.mark.parametrize("name", ["cubic", "sine", "diabetes"])
def test_rows_and_digests_are_equal_on_every_call_and_differ_between_folds(name):
    first, again, other = (raw_rows(source(name), fold) for fold in (0, 0, 3))
    assert first.rows_sha256 == again.rows_sha256 != other.rows_sha256
    assert first.test_names == again.test_names
    assert not {*first.test_names, *first.train_names} & {*other.test_names, *other.train_names}


def test_the_digest_agrees_with_the_bytes_of_all_rows_but_the_test_targets():
    inputs = np.array([[1.0, 2.0], [1.0, 2.0], [0.5, -3.0]])
    rows = RawRows(inputs, np.arange(3.0), inputs[:2], np.zeros(2))
    digest = hashlib.sha256()
    for part in (inputs, np.arange(3.0), inputs[:2]):
        digest.update(f"<f8{part.shape}".encode() + part.astype("<f8").tobytes())
    assert rows.rows_sha256 == digest.hexdigest()
    assert len(set(rows.test_names)) == 2
    assert replace(rows, test_targets=np.ones(2)).test_names == rows.test_names
    for same in (inputs.astype(">f8"), np.asfortranarray(inputs)):
        assert replace(rows, train_inputs=same).test_names == rows.test_names
    assert not {*replace(rows, train_targets=np.ones(3)).test_names} & {*rows.test_names}


def test_test_targets_are_written_only_on_request(tmp_path, capsys):
    for flags, expected in (([], False), (["--with-test-targets"], True)):
        place = tmp_path / str(expected)
        assert main(["export", "diabetes", "--fold", "2", "--out", str(place), *flags]) == 0
        assert ("target" in pd.read_csv(place / "test.csv").columns) is expected
        assert "target" in pd.read_csv(place / "train.csv").columns
        facts = json.loads((place / "fold.json").read_text())
        assert facts["fold"] == 2
        assert facts["test_rows"] == len(pd.read_csv(place / "test.csv"))
        assert facts["rows_sha256"] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["diabetis"], "do you mean diabetes"),
        (["diabetes", "--fold", "20"], "has folds 0 to 19; got 20"),
        (["diabetes", "--fold", "-1"], "has folds 0 to 19"),
        (["diabetes", "--out", "there"], "there exists: remove it, or choose another"),
    ],
)
def test_what_cannot_be_exported_leaves_nothing(tmp_path, monkeypatch, capsys, arguments, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert main(["export", *arguments]) == 2
    assert reason in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert not list((tmp_path / "there").iterdir())


def test_absent_files_are_said_to_be_absent(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "boston" in SOURCES
    assert main(["export", "boston", "--offline"]) == 1
    assert "boston" in capsys.readouterr().err
    assert not list(tmp_path.glob("boston*"))
