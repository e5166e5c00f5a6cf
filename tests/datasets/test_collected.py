"""The collected tables: files, categories and missing values, units and twins in splits."""

import csv
import gzip
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.official.collected.archives import Conversion
from bnnbench.datasets.official.collected.entries import ENTRIES, counted
from bnnbench.datasets.official.collected.splitting import split, units_of
from bnnbench.datasets.official.collected.table import CollectedTable
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsTable

CHEAP = ("hitters", "airfoil", "vowel", "mammographic")
NAMES = [n if n in CHEAP else pytest.param(n, marks=pytest.mark.long) for n in ENTRIES]


def test_the_tables_and_those_that_count():
    assert Counter(e.task for e in ENTRIES.values()) == {"regression": 24, "classification": 38}
    assert (len(counted("regression")), len(counted("classification"))) == (20, 26)


def test_a_missing_file_is_named_with_the_cure_and_a_wrong_name_with_the_nearest(folder):
    with pytest.raises(DataUnavailable, match=r"tables/regression/hitters.csv.*fetch hitters"):
        CollectedTable("hitters").load(0)
    with pytest.raises(ValueError, match="'airfoil'"):
        CollectedTable("airfol")


@pytest.mark.parametrize(
    ("name", "fallback"),
    [
        ("hitters", DiabetesAsUci()),
        ("vehicle", DigitsAsTable(4)),
        ("letter", DigitsAsTable(26)),
    ],
)
def test_stand_ins_have_as_many_classes(name, fallback):
    assert CollectedTable(name).fallbacks() == (fallback,)


# Units and splits


def test_units_are_linked_by_equal_inputs_and_by_groups():
    inputs = pd.DataFrame({"a": [0.0, 0.0, 1.0, 2.0, np.nan, np.nan], "b": list("xxyzww")})
    assert units_of(inputs).tolist() == [0, 0, 1, 2, 3, 3]
    groups = pd.DataFrame({"g": [7, 8, 8, 9, 5, 5]})
    units = units_of(inputs, groups)
    assert units[0] == units[1] == units[2]
    assert len(set(units)) == 3


def test_a_tenth_of_the_rows_is_tested_and_at_least_thirty():
    for rows, each, tested in ((1000, 1, 100), (1000, 5, 100), (103, 1, 30), (60, 4, 32)):
        units = np.repeat(np.arange(rows // each), each)
        train, test = split(units, None, "x", 0)
        assert len(test) == tested
        assert sorted([*train, *test]) == list(range(len(units)))
        assert not set(units[train]) & set(units[test])


def test_units_of_unequal_sizes_give_splits_of_one_size_and_each_is_tested_sometimes():
    units = np.repeat(np.arange(12), [*[40] * 11, 21])
    tested = [split(units, None, "x", number)[1] for number in range(60)]
    assert {len(test) for test in tested} == {80}  # 61 would need the small unit every time
    assert set(units[np.concatenate(tested)]) == set(range(11))


def test_splits_have_streams_named_by_table_and_number():
    units = np.arange(200)
    tested = [split(units, None, *named)[1] for named in (("x", 0), ("x", 1), ("y", 0), ("x", 0))]
    assert tested[0].tolist() == tested[3].tolist()
    assert len({tuple(sorted(rows)) for rows in tested}) == 3


def test_classes_keep_their_shares_and_equal_inputs_with_other_labels_stay_together():
    classes = np.repeat([0.0, 1.0, 2.0], [600, 300, 100])
    train, test = split(np.arange(1000), classes, "x", 3)
    assert np.bincount(classes[test].astype(int)).tolist() == [60, 30, 10]
    assert not (np.diff(classes[train]) >= 0).all()
    units = np.concatenate([np.arange(990), np.arange(10)])
    train, test = split(units, classes, "x", 3)
    assert not set(units[train]) & set(units[test])
    assert len(test) == 100
    few = np.repeat(np.arange(60), 2)
    assert len(split(few, np.repeat([0.0, 1.0], 60), "x", 0)[1]) == 32  # 16 of each class


# The prepared file, from the published one


def test_evans_rows_get_names_and_lose_trailing_digits():
    raw = gzip.compress(b"1.0,2.50000000001,3,4,5,6\n-1e6,0,0,0,0,7\n")
    prepared = b"x1,x2,x3,x4,x5,target\n1,2.5,3,4,5,6\n-1000000,0,0,0,0,7\n"
    assert Conversion("airfoil")(raw) == prepared


def test_keel_rows_with_missing_values_go_and_labels_get_a_prefix():
    raw = b"1.0, 2, <null>, 4, 5, 1\n1.0, 2, 3, 4, 5,  1\n1.0, 2, 3, 4, 5.5, 0\n"
    prepared = b"x1,x2,x3,x4,x5,label\n1,2,3,4,5,c1\n1,2,3,4,5.5,c0\n"
    assert Conversion("mammographic")(raw) == prepared


def test_published_columns_that_follow_from_the_target_are_left_out():
    raw = b"day,hr,casual,registered,bikers\n1,0,3,13,16\n"
    assert Conversion("bikeshare_hourly")(raw) == b"day,hr,bikers\n1,0,16\n"
    raw = b'"","age","creatinine","futime","death","chapter"\n"1",97,NA,85,1,"x"\n'
    assert Conversion("flchain")(raw) == b"age,creatinine,death\n97,,1\n"


# The tests below read the real files.


@pytest.fixture
def index(data_folder):
    """What those who prepared the tables say of them."""
    place = data_folder / "tables" / "index.csv"
    if not place.is_file():
        pytest.skip(f"real data: {place} is not there")
    with place.open() as lines:
        return {line["file"].split("/")[1].split(".")[0]: line for line in csv.DictReader(lines)}


def test_entries_agree_with_the_index(index):
    assert index.keys() == ENTRIES.keys()
    for name, line in index.items():
        entry = ENTRIES[name]
        assert (entry.rows, entry.columns) == (int(line["rows"]), int(line["columns"]))
        assert (entry.column, entry.classes) == (line["target"], int(line["classes"] or 0))
        assert entry.sha256.startswith(line["sha256"])
        assert line["file"].startswith(entry.task)


@pytest.mark.parametrize("name", NAMES)
def test_every_table_loads_in_splits_that_keep_units_and_twins_together(name, at_hand):
    table = at_hand(CollectedTable(name))
    entry, frame = table.entry, table.frame()
    data = table.load(table.folds - 1)
    kind = Categorical(entry.classes) if entry.classes else Gaussian()
    assert data.likelihood == kind
    assert data.train.inputs.isfinite().all()
    assert len(data.train) + len(data.test) == entry.rows
    assert len(data.test) >= 30
    train, test = table.split(table.folds - 1)
    assert len(test) == len(data.test) == len(table.split(0)[1])
    for columns in filter(None, (list(entry.split_by), list(table.features().columns))):
        of_train = set(frame.iloc[train][columns].itertuples(index=False, name=None))
        of_test = set(frame.iloc[test][columns].itertuples(index=False, name=None))
        assert not of_train & of_test
    whole = set(map(tuple, data.train.inputs.numpy())) & set(map(tuple, data.test.inputs.numpy()))
    assert not whole


@pytest.mark.parametrize(
    ("name", "units"), [("airfoil", 106), ("bikeshare_hourly", 365), ("sml", 45), ("vowel", 15)]
)
def test_units_are_wind_tunnel_conditions_days_and_speakers(name, units, at_hand):
    table = at_hand(CollectedTable(name))
    assert len(np.unique(table.units())) == units
    assert not set(table.entry.dropped) & set(table.feature_names)


def test_categories_become_features_and_missing_numbers_an_indicator(at_hand):
    wage = at_hand(CollectedTable("wage"))
    frame = wage.features()
    texts = ["maritl", "race", "education", "jobclass", "health", "health_ins"]
    encoded = OneHotEncoder(sparse_output=False).fit_transform(frame[texts])
    rows = wage.table(0)
    inputs = np.concatenate([rows.train_inputs, rows.test_inputs])
    assert inputs.shape[1] == 2 + encoded.shape[1]
    ones = np.isin(inputs, (0, 1)).all(0)
    np.testing.assert_array_equal(np.sort(inputs[:, ones].sum(0)), np.sort(encoded.sum(0)))
    flchain = at_hand(CollectedTable("flchain"))
    rows = flchain.table(0)
    indicator = list(flchain.feature_names).index("creatinine missing")
    assert rows.train_inputs[:, indicator].sum() + rows.test_inputs[:, indicator].sum() == 1350


def test_labels_are_as_published(at_hand):
    assert at_hand(CollectedTable("crx")).labels == ("negative", "positive")
    assert at_hand(CollectedTable("oj")).labels == ("CH", "MM")
    assert at_hand(CollectedTable("hitters")).labels == ()
