"""Names of features and classes: their number, and their order in the files."""

import pickle

import numpy as np
import pandas as pd
import pytest

from bnnbench.datasets.column_names import class_names, feature_names
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.uci import SETS, Uci
from bnnbench.datasets.official.uci_classification import UciClassification
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.stand_ins import DigitsAsMnist


@pytest.mark.parametrize("name", [name for name in SETS if name != "year"])
def test_every_column_of_the_regression_sets_has_a_name_of_its_own(data_folder, name):
    source = Uci(name)
    if source.missing():
        pytest.skip(f"{name} is not in the data folder")
    columns = source.table(0).train_inputs.shape[1]
    names = feature_names(Limited(source, train=50), columns)
    assert len(set(names)) == columns == len(source.feature_names)


def test_names_of_columns_are_not_shifted(data_folder):
    """Facts that the publishers state about single columns."""
    table = Uci("wine_red").table(0)
    wine = dict(zip(Uci("wine_red").feature_names, table.train_inputs.T, strict=True))
    assert 2.5 < wine["pH"].mean() < 4
    assert np.allclose(wine["density"], 1, atol=0.02)
    assert (wine["total sulfur dioxide"] > wine["free sulfur dioxide"]).all()
    assert (wine["alcohol"] > 8).all()
    table = Uci("concrete").table(0)
    mix = dict(zip(Uci("concrete").feature_names, table.train_inputs.T, strict=True))
    assert set(mix["age"]) >= {7, 28, 90, 365}
    assert 0.2 < np.median(mix["water"] / mix["cement"]) < 1.2
    table = Uci("energy").table(0)
    house = dict(zip(Uci("energy").feature_names, table.train_inputs.T, strict=True))
    shell = house["wall area"] + 2 * house["roof area"]  # floor and roof are alike
    np.testing.assert_allclose(shell, house["surface area"])
    assert set(house["orientation"]) == {2, 3, 4, 5}
    table = Uci("naval").table(0)
    ship = dict(zip(Uci("naval").feature_names, table.train_inputs.T, strict=True))
    np.testing.assert_array_equal(ship["starboard propeller torque"], ship["port propeller torque"])
    assert set(ship["compressor inlet temperature"]) == {288.0}
    assert set(ship["ship speed"]) == set(range(3, 28, 3))


def test_classes_of_photographs_are_named_as_in_the_archive(data_folder):
    meta = data_folder / "cifar-10-batches-py" / "batches.meta"
    if not meta.exists():
        pytest.skip("CIFAR-10 is not in the data folder")
    named = pickle.loads(meta.read_bytes())["label_names"]
    assert class_names(Limited(Cifar10(), train=9), 10) == tuple(named)


def test_a_table_of_texts_names_its_categories_and_classes(data_folder):
    source = UciClassification("haberman")
    assert class_names(source, 2) == ("1", "2")
    assert feature_names(source, 3) == ("column 0", "column 1", "column 2")


def test_features_of_an_own_table_are_named_by_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.random(40), "town": ["Kiel", "Jena"] * 20})
    frame["price"] = rng.random(40)
    frame.to_csv(tmp_path / "homes.csv", index=False)
    source = own_table(str(tmp_path / "homes.csv"), "price")
    names = feature_names(source, 3)
    assert names[0] == "size"
    rows = source.table(0).train_inputs
    assert sorted(names[1:]) == ["town=Jena", "town=Kiel"]
    assert set(rows[:, 1] + rows[:, 2]) == {1.0}


def test_without_names_there_are_numbers():
    assert feature_names(DigitsAsMnist(), 2) == ("x0", "x1")
    assert class_names(DigitsAsMnist(), 3) == ("0", "1", "2")
