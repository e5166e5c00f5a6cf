"""Custom tables: columns as numbers, no value of a test row in training, clear refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

from bnnbench.datasets.base import Categorical, DataSource, TableSource
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.reading.cache import forget
from bnnbench.datasets.reading.columns import BadTable, is_classes


def saved(frame, folder, name="mine.csv"):
    path = folder / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    return str(path)


@pytest.fixture
def diabetes():
    bunch: Any = load_diabetes(as_frame=True)
    return bunch.frame.rename(columns={"target": "progress"})


@pytest.fixture
def wine():
    bunch: Any = load_wine(as_frame=True)
    frame = bunch.frame
    return frame.assign(target=frame["target"].map({0: "red", 1: "rose", 2: "white"}))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_regression_has_standardised_rows_and_all_of_them(diabetes, tmp_path, ending):
    source = own_table(saved(diabetes, tmp_path, f"mine.{ending}"), "progress")
    assert isinstance(source, DataSource)
    assert isinstance(source, TableSource)
    assert (source.name, source.task, source.origin, source.folds) == (
        "mine",
        "regression",
        "own",
        10,
    )
    data, rows = source.load(3), source.table(3)
    assert len(data.train) + len(data.test) == len(diabetes)
    scaler = StandardScaler().fit(rows.train_inputs)
    expected = np.asarray(scaler.transform(rows.test_inputs))
    np.testing.assert_allclose(data.test.inputs, expected, atol=1e-5)
    together = np.sort(np.concatenate([rows.train_targets, rows.test_targets]))
    np.testing.assert_allclose(together, np.sort(diabetes["progress"]))
    assert data.facts["target"] == "progress"
    assert set(data.facts) >= {"test_twins_in_train", "constant_columns", "sha256"}


def test_classes_are_texts_in_order_and_stratified(wine, tmp_path):
    source = own_table(saved(wine, tmp_path), "target")
    assert (source.task, source.labels) == ("classification", ("red", "rose", "white"))
    data = source.load(0)
    assert data.likelihood == Categorical(3)
    shares = np.bincount(data.test.targets, minlength=3) / len(data.test)
    whole = wine["target"].value_counts(normalize=True)[["red", "rose", "white"]]
    np.testing.assert_allclose(shares, whole, atol=0.06)
    counts = np.bincount(data.train.targets) + np.bincount(data.test.targets, minlength=3)
    assert counts.tolist() == wine["target"].value_counts()[["red", "rose", "white"]].tolist()


@pytest.mark.parametrize(
    ("values", "classes"),
    [([0, 1, 2, 1], True), ([True, False], True), (["a", "b"], True), ([0.5, 1.0], False)],
)
def test_the_task_follows_from_the_target(values, classes):
    assert is_classes(pd.Series(values)) == classes
    assert not is_classes(pd.Series(range(30)))


def test_a_test_row_changes_nothing_in_training(diabetes, tmp_path):
    gaps = diabetes.copy()
    gaps.loc[gaps.index % 7 == 0, "bmi"] = np.nan
    source = own_table(saved(gaps, tmp_path), "progress")
    row = np.flatnonzero(gaps["progress"].to_numpy() == source.table(0).test_targets[0])[0]
    changed = gaps.copy()
    changed.loc[row, "bmi"] = 1e6
    other = own_table(saved(changed, tmp_path, "other.csv"), "progress")
    np.testing.assert_array_equal(source.table(0).train_inputs, other.table(0).train_inputs)


def test_a_column_may_say_the_split_or_keep_groups_together(diabetes, tmp_path):
    words = diabetes.assign(part=np.where(diabetes.index < 400, "train", "test"))
    source = own_table(saved(words, tmp_path), "progress", split="part")
    assert source.folds == 1
    assert source.table(0).train_targets.tolist() == diabetes["progress"][:400].tolist()
    numbers = diabetes.assign(part=diabetes.index % 3)
    source = own_table(saved(numbers, tmp_path, "n.csv"), "progress", split="part")
    assert source.folds == 3
    assert source.table(2).test_targets.tolist() == diabetes["progress"][2::3].tolist()
    groups = diabetes.assign(person=diabetes.index // 5)
    source = own_table(saved(groups, tmp_path, "g.csv"), "progress", groups="person")
    rows = source.table(1)
    # One row of a group identifies its side: targets with features are unique.
    side = {tuple(r) for r in np.column_stack([rows.test_inputs, rows.test_targets]).round(9)}
    keys = np.column_stack([diabetes.drop(columns="progress"), diabetes["progress"]]).round(9)
    tested = np.array([tuple(key) in side for key in keys])
    assert all(len(set(tested[start : start + 5])) == 1 for start in range(0, 440, 5))


def test_a_changed_file_is_another_source(diabetes, tmp_path):
    path = saved(diabetes, tmp_path)
    before = own_table(path, "progress")
    saved(diabetes.assign(age=0.0), tmp_path)
    assert own_table(path, "progress") != before
    forget()  # as in another process
    with pytest.raises(BadTable, match="changed while the command ran"):
        before.table(1)


BAD = {
    "no file": (None, {"target": "y"}, "there is no file"),
    "no target": ({"x": range(30)}, {"target": "y"}, "no column 'y'; its columns are x"),
    "few rows": ({"x": range(3), "y": range(3)}, {"target": "y"}, "at least 20"),
    "gaps": (
        {"x": range(30), "y": [1, None, None, *range(27)]},
        {"target": "y"},
        "no value in 2 rows, the first of which is row 2 .*remove such rows",
    ),
    "gap": ({"x": range(30), "y": [None, *range(29)]}, {"target": "y"}, "no value in row 1"),
    "names": (
        {"x": [f"n{k}" for k in range(60)], "y": np.arange(60.0) + 0.5},
        {"target": "y"},
        "leave it out with --drop 'x'",
    ),
    "one class": ({"x": range(30), "y": ["a"] * 30}, {"target": "y"}, "nothing to learn"),
    "tiny classes": (
        {"x": range(30), "y": ["b", "c", *["a"] * 28]},
        {"target": "y"},
        "these classes of 'y' have only one row: 'b', 'c'; leave them out, or merge them",
    ),
    "decimal commas": (
        {"x": [f"{k},5" for k in range(30)], "y": np.arange(30) / 7},
        {"target": "y"},
        "column 'x' has numbers with a decimal comma, such as '0,5': write points",
    ),
    "target with decimal commas": (
        {"x": range(30), "y": [f"{k},5" for k in range(30)]},
        {"target": "y"},
        "the target 'y' has numbers with a decimal comma",
    ),
    "numbers and marks": (
        {"x": ["?", "n/k", *map(str, range(60))], "y": np.arange(62) / 7},
        {"target": "y"},
        "column 'x' has numbers but for '\\?', 'n/k' in 2 of 62 rows: write numbers or nothing",
    ),
    "few numbers and a mark": (
        {"x": ["?", *map(str, range(30))], "y": np.arange(31) / 7},
        {"target": "y"},
        "column 'x' has numbers but for '\\?' in 1 of 31 rows: write numbers or nothing",
    ),
    "target of few numbers and a mark": (
        {"x": range(31), "y": ["abc", *(f"{k}.5" for k in range(30))]},
        {"target": "y"},
        "the target 'y' has numbers but for 'abc' in 1 of 31 rows",
    ),
    "regression of numbers and a mark": (
        {"x": range(31), "y": ["abc", *(f"{k}.5" for k in range(30))]},
        {"target": "y", "task": "regression"},
        "the target 'y' has numbers but for 'abc' in 1 of 31 rows",
    ),
    "target of numbers and marks": (
        {"x": range(62), "y": ["?", "n/k", *map(str, range(60))]},
        {"target": "y"},
        "the target 'y' has numbers but for .*: write numbers there, or leave these rows out",
    ),
    "thousands": (
        {"x": [f"{k},000" for k in range(1, 31)], "y": np.arange(30) / 7},
        {"target": "y"},
        "column 'x' has ambiguous commas, such as in '1,000'",
    ),
    "numbers as texts": (
        {"x": [None, *(f"{k}_0" for k in range(60))], "y": np.arange(61) / 7},
        {"target": "y"},
        "column 'x' has 61 different texts",
    ),
    "dropped target": (
        {"x": range(30), "y": np.arange(30) / 7},
        {"target": "y", "drop": ("y",)},
        "--drop names 'y', which is the target, the split or the group: take it out",
    ),
    "many classes": (
        {"x": range(30), "y": [f"c{k % 6}" for k in range(30)]},
        {"target": "y"},
        "30 rows for 6 classes of 'y': at least 60",
    ),
    "no name": ({"x": range(30)}, {}, "--target; the columns of .* are x"),
    "texts": (
        {"x": range(30), "y": ["a", "b"] * 15},
        {"target": "y", "task": "regression"},
        "--task classification",
    ),
    "split": (
        {"x": range(30), "y": np.arange(30) / 7, "s": ["a"] * 30},
        {"target": "y", "split": "s"},
        "needs the words train and test",
    ),
    "alone": ({"y": np.arange(30) / 7}, {"target": "y"}, "no columns besides the target"),
    "infinite": (
        {"x": [np.inf, *range(29)], "y": np.arange(30) / 7},
        {"target": "y"},
        "infinite in row 1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_strict_reading_refuses_bad_tables_with_cause_and_cure(name, tmp_path):
    columns, settings, words = BAD[name]
    path = str(tmp_path / "none.csv")
    if columns is not None:
        path = saved(pd.DataFrame(columns), tmp_path)
    with pytest.raises(BadTable, match=words):
        own_table(path, strict=True, **settings)


HOPELESS = set(BAD) - {
    *("few rows", "gaps", "gap", "names", "decimal commas", "target with decimal commas"),
    *("numbers and marks", "few numbers and a mark", "target of numbers and marks", "thousands"),
    "numbers as texts",
}


@pytest.mark.parametrize("name", sorted(HOPELESS))
def test_tables_without_a_reading_are_refused_in_the_same_words(name, tmp_path):
    columns, settings, words = BAD[name]
    path = str(tmp_path / "none.csv")
    if columns is not None:
        path = saved(pd.DataFrame(columns), tmp_path)
    with pytest.raises(BadTable, match=words):
        own_table(path, **settings)


def test_semicolons_and_tabs_separate_columns_and_may_have_decimal_commas(tmp_path):
    numbers = pd.DataFrame({"größe": np.arange(30) / 4, "farbe": ["rot", "blau"] * 15})
    numbers["preis"] = numbers["größe"] ** 2 + 0.25
    expected = own_table(saved(numbers, tmp_path), "preis").table(0)
    for name, mark, point in (("a", ";", ","), ("b", ";", "."), ("c", "\t", ","), ("d", "\t", ".")):
        path = tmp_path / f"{name}.csv"
        numbers.to_csv(path, sep=mark, decimal=point, index=False, encoding="utf-8-sig")
        found = own_table(str(path), "preis").table(0)
        np.testing.assert_array_equal(found.train_inputs, expected.train_inputs)
        np.testing.assert_array_equal(found.train_targets, expected.train_targets)


def test_strict_reading_names_other_encodings(tmp_path):
    (tmp_path / "a.csv").write_bytes(("größe,preis\n" + "1,2\n" * 30).encode("latin-1"))
    with pytest.raises(BadTable, match="is not UTF-8 text: save it as UTF-8"):
        own_table(str(tmp_path / "a.csv"), "preis", strict=True)


def test_it_says_how_columns_are_read(tmp_path):
    table = pd.DataFrame({"id": range(30), "x": np.arange(30) / 7, "kind": ["a", "b", "c"] * 10})
    table = table.assign(same=1, y=np.arange(30) / 3)
    assert own_table(saved(table, tmp_path), "y").columns_in_words == (
        "numbers: id, x, same; categories, with how many values: kind (3); the same in every row: "
        "same; different in every row, so that --drop may help if they only number rows: id"
    )


def test_each_column_of_a_table_by_tabs_has_its_own_decimals(tmp_path):
    path = tmp_path / "mixed.tsv"
    lines = ["area\tprice, EUR\ty", *(f"{k}.5\t{k},25\t{k}" for k in range(30))]
    path.write_text("\n".join(lines))
    table = own_table(str(path), "y").table(0)
    inputs = np.concatenate([table.train_inputs, table.test_inputs])
    np.testing.assert_array_equal(inputs[:, 1] - inputs[:, 0], np.full(30, -0.25))


def test_thousands_are_not_read_as_decimals(tmp_path):
    path = tmp_path / "thousands.tsv"
    lines = ["price\ty", *(f"{k},050\t{k}.5" for k in range(1, 31))]
    path.write_text("\n".join(lines))
    with pytest.raises(BadTable, match="ambiguous commas"):
        own_table(str(path), "y")


def test_a_compressed_table_is_read(diabetes, tmp_path):
    diabetes.to_csv(tmp_path / "d.csv.gz", index=False)
    assert len(own_table(str(tmp_path / "d.csv.gz"), "progress").feature_names) > 5


def test_numbers_that_a_file_stores_as_texts_are_named(tmp_path):
    table = pd.DataFrame({"x": [f"{k}.5" for k in range(60)], "y": np.arange(60) / 7})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(BadTable, match="column 'x' has numbers that are stored as texts"):
        own_table(str(tmp_path / "t.parquet"), "y", strict=True)
    source = own_table(str(tmp_path / "t.parquet"), "y")
    assert source.rows()["x"].astype(float).tolist() == [k + 0.5 for k in range(60)]
    assert source.feature_names == ("x",)


def test_long_lists_of_columns_are_cut(tmp_path):
    table = pd.DataFrame({f"x{k}": np.arange(30) / 7 for k in range(20)}).assign(y=range(30))
    words = own_table(saved(table, tmp_path), "y", "regression").columns_in_words
    assert words == "numbers: x0, x1, x2, x3, x4, x5, x6, x7 and 12 more"


def test_classes_may_look_like_numbers_with_commas(tmp_path):
    path = saved(pd.DataFrame({"x": range(40), "y": ["1,2", "3,4"] * 20}), tmp_path)
    assert own_table(path, "y", "classification").labels == ("1,2", "3,4")
    assert set(own_table(path, "y").table(0).train_targets) == {1.2, 3.4}
    with pytest.raises(BadTable, match="decimal comma"):
        own_table(path, "y", strict=True)


def test_a_mark_among_few_numbers_is_a_category(tmp_path):
    frame = pd.DataFrame({"children": ["0", "1", "2", "3+"] * 8, "y": np.arange(32) / 7})
    source = own_table(saved(frame, tmp_path), "y")
    assert source.feature_names == tuple(f"children={kind}" for kind in ("0", "1", "2", "3+"))
