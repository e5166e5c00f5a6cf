"""Rows of a trained network: untouched inputs, and calibration rows that are never scored."""

import numpy as np
import pandas as pd
import pytest
import torch

from bnnbench.datasets.base import Categorical, DataSource, Gaussian
from bnnbench.datasets.conditions.other_rows import OtherRows
from bnnbench.datasets.own.trained import SEEN, TrainedOn, trained_on
from bnnbench.datasets.reading.cache import forget
from bnnbench.datasets.reading.columns import BadTable

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in {"train": 40, "test": 70, "more": 30}.items():
        images = RNG.normal(5, 3, (rows, 1, 4, 4)).astype(np.float32)
        np.savez(f"{name}.npz", inputs=images, targets=RNG.integers(0, 3, rows))


def test_inputs_are_untouched_and_calibration_rows_are_not_scored():
    source = trained_on("train.npz", "test.npz")
    assert isinstance(source, DataSource)
    data, file = source.load(0), np.load("test.npz")
    assert torch.equal(data.train.inputs, torch.from_numpy(np.load("train.npz")["inputs"]))
    assert data.likelihood == Categorical(3)
    assert data.calibration is not None
    parts = [data.calibration.inputs, data.test.inputs]
    assert [len(part) for part in parts] == [35, 35]
    together = {row.tobytes() for part in parts for row in part.numpy()}
    assert together == {row.tobytes() for row in file["inputs"]}
    labels = {
        row.tobytes(): label for row, label in zip(file["inputs"], file["targets"], strict=True)
    }
    assert all(
        labels[row.numpy().tobytes()] == label for row, label in zip(*_rows(data.test), strict=True)
    )


def _rows(split):
    return split.inputs, split.targets.tolist()


def test_the_seed_draws_the_calibration_rows_at_most_a_thousand():
    rows = np.arange(5000, dtype=np.float32)[:, None]
    np.savez("large.npz", inputs=rows, targets=RNG.normal(size=5000))
    np.savez("small.npz", inputs=rows[:30], targets=RNG.normal(size=30))
    first, again, other = (
        trained_on("small.npz", "large.npz", seed=seed).load(0) for seed in (0, 0, 1)
    )
    assert first.likelihood == Gaussian()
    assert len(first.calibration) == 1000
    assert len(first.test) == 4000
    assert torch.equal(first.calibration.inputs, again.calibration.inputs)
    assert not torch.equal(first.calibration.inputs, other.calibration.inputs)


def test_calibration_rows_may_be_another_files_or_the_training_rows():
    of_file = trained_on("train.npz", "test.npz", calibration="more.npz").load(0)
    assert (len(of_file.calibration), len(of_file.test)) == (30, 70)
    more = torch.from_numpy(np.load("more.npz")["inputs"])
    assert torch.equal(of_file.calibration.inputs, more)
    seen = trained_on("train.npz", "test.npz", calibration=SEEN)
    assert seen.chooses_by_seen_rows
    assert torch.equal(seen.load(0).calibration.inputs, seen.load(0).train.inputs)


def test_tables_of_numbers_are_read_with_the_target_by_name():
    frame = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"]).assign(y=range(60))
    frame.to_csv("rows.csv", index=False)
    frame.iloc[::-1].to_parquet("rows.parquet")
    source = trained_on("rows.csv", "rows.parquet", target="y", task="regression")
    data = source.load(0)
    expected = frame[["a", "b", "c"]].to_numpy(np.float32).copy()
    assert torch.equal(data.train.inputs, torch.from_numpy(expected))
    assert data.train.targets[:, 0].tolist() == list(range(60))
    assert data.target is not None
    assert (data.target.name, data.target.mean, data.target.std) == ("y", 0.0, 1.0)


def test_changed_content_is_another_source_and_is_noticed():
    source = trained_on("train.npz", "test.npz")
    images = np.load("test.npz")["inputs"] + 1
    np.savez("test.npz", inputs=images, targets=np.load("test.npz")["targets"])
    assert trained_on("train.npz", "test.npz") != source
    forget()
    with pytest.raises(BadTable, match="changed while the command ran"):
        source.load(0)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": np.zeros((30, 4))}, "needs the array 'inputs'; its arrays are images"),
        ({"inputs": np.zeros((30, 2)), "targets": np.zeros(29)}, "30 inputs and 29 targets"),
        ({"inputs": np.zeros((30, 9)), "targets": np.zeros(30)}, r"inputs of shape \(9,\), but"),
        ({"inputs": np.zeros((30, 1, 4, 4), np.uint8), "targets": np.zeros(30)}, "images of uint8"),
        ({"inputs": np.full((30, 1, 4, 4), np.nan), "targets": np.zeros(30)}, "missing or inf"),
        ({"inputs": np.zeros((30, 1, 4, 4)), "targets": np.array(["a"] * 30)}, "no numbers"),
        ({"inputs": np.zeros((9, 1, 4, 4)), "targets": np.zeros(9)}, "at least 20 are needed"),
        ({"inputs": np.zeros((30, 1, 4, 4)), "targets": np.full(30, -1)}, "class numbers from 0"),
    ],
)
def test_bad_files_are_refused_with_cause_and_cure(arrays, message):
    np.savez("bad.npz", **arrays)
    with pytest.raises(BadTable, match=message):
        trained_on("train.npz", "bad.npz")


def test_texts_and_missing_columns_of_tables_are_refused():
    pd.DataFrame({"a": ["x"] * 30, "y": 1.0}).to_csv("texts.csv", index=False)
    with pytest.raises(BadTable, match="texts in a: the network expects numbers"):
        trained_on("texts.csv", "texts.csv", target="y")
    with pytest.raises(BadTable, match="name the column to predict"):
        trained_on("texts.csv", "texts.csv", target="z")
    with pytest.raises(BadTable, match="there is no file"):
        trained_on("nowhere.npz", "test.npz")


def test_other_rows_are_mixed_with_the_test_rows():
    data = trained_on("train.npz", "test.npz").load(0)
    np.savez("strange.npz", inputs=np.full((20, 1, 4, 4), 99.0))
    condition = OtherRows.of("strange.npz")
    assert condition.name == "ood_strange"
    mixed = condition.select(data)
    assert len(mixed) == 55
    assert (mixed.inputs.flatten(1) == 99).all(1).long().tolist() == mixed.targets.tolist()
    np.savez("narrow.npz", inputs=np.zeros((20, 1, 3, 3)))
    with pytest.raises(BadTable, match="but the network needs"):
        OtherRows.of("narrow.npz").select(data)


def test_a_source_is_plain_data():
    source = trained_on("train.npz", "test.npz")
    assert hash(source) == hash(TrainedOn(**vars(source)))


@pytest.fixture
def tables():
    """Tables of training rows, and of other rows with their columns in another order."""
    frame = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"]).assign(y=range(60))
    frame.iloc[:30].to_csv("seen.csv", index=False)
    frame.iloc[30:, [2, 3, 0, 1]].to_csv("unseen.csv", index=False)
    return frame


def test_columns_of_tables_are_matched_by_name(tables):
    data = trained_on("seen.csv", "unseen.csv", target="y", task="regression").load(0)
    for split in data.splits:
        rows = tables.loc[split.targets[:, 0].numpy(), ["a", "b", "c"]].to_numpy(np.float32)
        np.testing.assert_array_equal(split.inputs, rows)
    other = tables[["c", "b", "a"]] + 100
    other.to_csv("other.csv", index=False)
    mixed = OtherRows.of("other.csv", "y").select(data)
    found = mixed.inputs[mixed.targets == 1].numpy()
    expected = other[["a", "b", "c"]].to_numpy(np.float32)
    np.testing.assert_allclose(np.sort(found, 0), np.sort(expected, 0), rtol=1e-6)


def test_tables_with_other_columns_are_refused_by_name(tables):
    tables.rename(columns={"b": "d"}).to_csv("unseen.csv", index=False)
    with pytest.raises(BadTable, match="lacks the columns 'b' and has other columns, 'd'"):
        trained_on("seen.csv", "unseen.csv", target="y", task="regression")
    tables.to_csv("unseen.csv", index=False)
    data = trained_on("seen.csv", "unseen.csv", target="y", task="regression").load(0)
    tables.rename(columns={"b": "d"}).to_csv("other.csv", index=False)
    with pytest.raises(BadTable, match="lacks the columns 'b'"):
        OtherRows.of("other.csv", "y").select(data)


def test_the_same_rows_in_two_places_are_refused():
    with pytest.raises(BadTable, match="the test rows are the training rows"):
        trained_on("train.npz", "train.npz")
    for file, role in {"test.npz": "test", "train.npz": "training"}.items():
        with pytest.raises(BadTable, match=f"the calibration rows are the {role} rows"):
            trained_on("train.npz", "test.npz", calibration=file)


def test_equal_inputs_are_all_calibration_rows_or_all_test_rows():
    inputs, targets = np.repeat(np.load("test.npz")["inputs"][:12], 5, 0), np.arange(60) % 3
    inputs[:2] = np.load("train.npz")["inputs"][:2]
    np.savez("again.npz", inputs=inputs, targets=targets)
    for seed in range(5):
        data = trained_on("train.npz", "again.npz", seed=seed).load(0)
        parts = [{row.tobytes() for row in part.inputs.numpy()} for part in data.splits[1:]]
        assert not parts[0] & parts[1]
        assert 20 <= len(data.calibration) <= 30
        assert len(data.test) + len(data.calibration) == 60
        seen = sum(
            row.tobytes() in {r.tobytes() for r in inputs[:2]} for row in data.test.inputs.numpy()
        )
        told = data.facts["transforms"]
        assert told == [
            f"{seen} of {len(data.test)} test rows have the inputs of training rows"
        ] * bool(seen)
    np.savez("again.npz", inputs=np.ones((60, 1, 4, 4), np.float32), targets=targets)
    with pytest.raises(BadTable, match="cannot be split into calibration and test rows"):
        trained_on("train.npz", "again.npz").load(0)


def test_changed_other_rows_are_noticed():
    data = trained_on("train.npz", "test.npz").load(0)
    np.savez("strange.npz", inputs=np.full((20, 1, 4, 4), 99.0))
    condition = OtherRows.of("strange.npz")
    np.savez("strange.npz", inputs=np.full((20, 1, 4, 4), 98.0))
    with pytest.raises(BadTable, match=r"strange.npz changed while the command ran"):
        condition.select(data)
