"""What is decided within the training rows of each split, or refused with a choice."""

import numpy as np
import pandas as pd
import pytest

from bnnbench.datasets.own.preparation import prepare
from bnnbench.datasets.own.reading import read
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.suites.own import suites_of
from tests.datasets.own.flats import arrays


def saved(folder, frame, **settings):
    path = folder / "mine.csv"
    frame.to_csv(path, index=False, **settings)
    return str(path)


@pytest.fixture
def streets():
    """A frame of 200 rows whose often named street differs between its halves."""
    rng = np.random.default_rng(0)
    rare = np.array([f"street {k}" for k in rng.integers(0, 90, 200)], object)
    halves = np.where(np.arange(200) < 100, "mill lane", "high street")
    frame = pd.DataFrame({"street": np.where(np.arange(200) % 4 == 0, halves, rare)})
    return frame.assign(y=rng.normal(size=200))


def test_frequent_texts_are_those_of_the_training_rows(streets):
    first, second = (prepare(streets[["street"]], rows) for rows in (range(100), range(100, 200)))
    assert "street=mill lane" in first.names
    assert "street=high street" not in first.names
    assert "street=high street" in second.names
    assert len(first.names) == len(second.names)  # fits of all splits have one shape
    values = first.inputs(streets)
    np.testing.assert_array_equal(values.sum(1), np.ones(200))
    place = first.names.index("street=other texts")
    assert (values[streets["street"] == "high street", place] == 1).all()


def test_features_of_a_split_do_not_depend_on_its_test_rows(streets, tmp_path):
    part = np.where(np.arange(200) < 150, "train", "test")
    before = own_table(saved(tmp_path, streets.assign(part=part)), "y", split="part").table(0)
    changed = streets.assign(street=np.where(part == "test", "mill lane", streets["street"]))
    after = own_table(saved(tmp_path, changed.assign(part=part)), "y", split="part").table(0)
    assert before.names == after.names
    np.testing.assert_array_equal(before.train_inputs, after.train_inputs)


def test_new_rows_of_another_file_are_read_as_the_first_file_was(tmp_path):
    prices = [f"{k}.{k % 9 + 100},5" for k in range(1, 31)]
    frame = pd.DataFrame(
        {"price": prices, "code": [f"0{k % 3}a" if k % 4 else "07" for k in range(30)]}
    )
    frame["day"] = pd.date_range("2020-02-27", periods=30).strftime("%d.%m.%Y")
    source = own_table(saved(tmp_path, frame.assign(y=np.arange(30) / 7), sep=";"), "y")
    preparation = source.preparation()
    few = tmp_path / "few.csv"
    few.write_text("code;day;price\n07;01.03.2020;1.250\n;;\n")
    values = dict(
        zip(preparation.names, preparation.inputs(read(str(few), preparation.texts)).T, strict=True)
    )
    whole = np.array([float(text.replace(".", "").replace(",", ".")) for text in prices])
    assert values["price"].tolist() == [1250, np.median(whole)]
    assert values["code=07"].tolist() == [1, 0]
    days = np.datetime64("2020-03-01") - np.datetime64("1970-01-01")
    assert values["day days"][0] == days.astype(int)
    assert (values["day month"][0], values["day weekday"][0]) == (3, 6)  # a Sunday


def test_equal_rows_are_on_one_side_and_all_rows_in_use(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    twice = pd.concat([frame, frame.iloc[:25], frame.iloc[:10]])
    source = own_table(saved(tmp_path, twice), "y")
    for fold in range(source.folds):
        rows = source.table(fold)
        assert not set(rows.train_targets) & set(rows.test_targets)
        together = np.sort(np.concatenate([rows.train_targets, rows.test_targets]))
        np.testing.assert_allclose(together, np.sort(twice["y"]))
    assert source.load(0).facts["test_twins"] == 0


def test_equal_rows_of_a_few_categories_are_no_copies(tmp_path):
    frame = pd.DataFrame({"class": ["1st", "2nd"] * 50, "sex": ["f", "m", "m", "f"] * 25})
    source = own_table(saved(tmp_path, frame.assign(y=["no", "yes", "no"] * 33 + ["no"])), "y")
    assert not [line for line in source.lines if "repeat" in line]
    assert len(source.table(0).test_targets) == 10


@pytest.mark.parametrize("rows", [10, 12, 19])
def test_each_of_few_rows_is_tested_once(rows, tmp_path):
    rng = np.random.default_rng(rows)
    frame = pd.DataFrame({"x": rng.normal(size=rows), "y": rng.normal(size=rows)})
    source = own_table(saved(tmp_path, frame), "y")
    tested = [source.table(fold).test_targets for fold in range(source.folds)]
    assert sorted(np.concatenate(tested)) == sorted(frame["y"])
    assert suites_of(source)["quick"].folds == rows
    with pytest.raises(BadTable, match=f"has {rows} rows; at least 20 are needed"):
        own_table(str(tmp_path / "mine.csv"), "y", strict=True)


def test_nine_rows_are_too_few_even_if_others_lack_a_target(tmp_path):
    frame = pd.DataFrame({"x": range(25), "y": [k / 7 if k < 9 else None for k in range(25)]})
    with pytest.raises(BadTable, match="has 9 rows; at least 10 are needed"):
        own_table(saved(tmp_path, frame), "y")


def test_several_targets_are_a_choice(tmp_path):
    frame = pd.DataFrame({name: np.random.default_rng(0).random(30) for name in "abc"})
    path = saved(tmp_path, frame)
    with pytest.raises(BadTable, match="one target: use --target a --drop b, or --target b --drop"):
        own_table(path, "a,b")
    path = tmp_path / "mine.npz"
    path.write_bytes(arrays(inputs=np.ones((30, 2)), targets=np.outer(np.arange(30), [1 / 7, 2])))
    with pytest.raises(BadTable, match=r"has 2 targets.*--target target_0 --drop target_1, or"):
        own_table(str(path))
    source = own_table(str(path), "target_0", drop=("target_1",))
    assert source.feature_names == ("x0", "x1")


def test_decisions_and_doubts_are_facts_of_the_data(tmp_path):
    frame = pd.DataFrame({"flat": range(30), "x": [*"??", *range(28)], "y": np.arange(30) / 7})
    source = own_table(saved(tmp_path, frame), "y")
    steps = source.load(0).facts["transforms"]
    assert [step for step in steps if "'?' in 2 of 30 rows counts as missing" in step]
    assert [step for step in steps if "flat: it counts the rows" in step]
    assert source.preparation().lines == ("x: '?' in 2 of 30 rows counts as missing",)


def test_marks_beside_declared_classes_are_no_class(tmp_path):
    frame = pd.DataFrame({"x": range(30), "y": ["0", "1", "-"] * 10})
    for task in (None, "classification"):
        source = own_table(saved(tmp_path, frame), "y", task)
        assert (source.labels, len(source.rows())) == (("0", "1"), 20)


@pytest.mark.long
def test_lines_are_short_and_not_many(tmp_path):
    columns = {f"{'long ' * 200}{k}": ["?", *range(29)] for k in range(70)}
    frame = pd.DataFrame(columns).assign(y=np.random.default_rng(0).random(30))
    lines = own_table(saved(tmp_path, frame), "y").lines
    assert len(lines) == 61
    assert lines[-1].startswith("and ")
    assert max(map(len, lines)) < 500
