"""The folds of ScoringBench, to the row, by its rule written out here."""

import numpy as np
import pytest

from bnnbench.datasets.cuts.shuffled_folds import ShuffledFolds
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.official.uci_large import UciLarge
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.suites.uci import SUITES


def by_the_rule(rows: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a fold: a permutation in five blocks, each part within its cap."""
    order = np.random.RandomState(42).permutation(rows)
    sizes = [rows // 5 + (k < rows % 5) for k in range(5)]
    start = sum(sizes[:fold])
    test = np.sort(order[start : start + sizes[fold]])
    train = np.setdiff1d(np.arange(rows), test)
    if len(train) > 2400:
        generator = np.random.default_rng(42 * 10007 + fold)
        train = generator.choice(train, size=2400, replace=False)
    if len(test) > 600:
        generator = np.random.default_rng(42 * 10007 + fold + 1)
        test = generator.choice(test, size=600, replace=False)
    return train, test


@pytest.mark.parametrize("rows", [442, 506, 768, 1030, 3000, 3001, 8192])
def test_folds_are_those_of_the_rule_to_the_row(rows):
    source = ShuffledFolds(DiabetesAsUci())
    for fold in range(5):
        for mine, theirs in zip(source.places(rows, fold), by_the_rule(rows, fold), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_rows_are_those_of_the_file_in_original_units():
    source = ShuffledFolds(DiabetesAsUci())
    inputs, targets = DiabetesAsUci().rows()
    for fold in range(source.folds):
        train, test = by_the_rule(len(targets), fold)
        table = source.table(fold)
        np.testing.assert_array_equal(table.train_inputs, inputs[train])
        np.testing.assert_array_equal(table.train_targets, targets[train])
        np.testing.assert_array_equal(table.test_inputs, inputs[test])
        np.testing.assert_array_equal(table.test_targets, targets[test])


def test_every_row_is_tested_once_where_the_cap_leaves_none_out():
    source = ShuffledFolds(DiabetesAsUci())
    tested = np.concatenate([source.places(442, fold)[1] for fold in range(5)])
    np.testing.assert_array_equal(np.sort(tested), np.arange(442))


def test_the_cap_of_a_large_table_leaves_2400_and_600_rows():
    train, test = ShuffledFolds(DiabetesAsUci()).places(8192, 3)
    assert (len(set(train)), len(set(test))) == (2400, 600)
    assert not set(train) & set(test)


def test_the_profile_has_these_folds_of_the_four_sets_in_original_units():
    suite = SUITES["scoringbench"]
    assert [case.name for case in suite.cases] == ["boston", "concrete", "energy", "kin8nm"]
    assert all(case.source == ShuffledFolds(Uci(case.name)) for case in suite.cases)
    assert (suite.folds, suite.seeds) == (5, 1)


@pytest.mark.parametrize(("name", "train", "test"), [("boston", 404, 102), ("kin8nm", 2400, 600)])
def test_loaded_folds_have_the_caps(name, train, test):
    source = ShuffledFolds(Uci(name))
    if source.missing():
        pytest.skip("the files are not here")
    data = source.load(0)
    assert (len(data.train), len(data.test)) == (train, test)


def test_a_source_without_all_its_rows_is_refused():
    with pytest.raises(ValueError, match="needed all rows of a table; pol has only its folds"):
        ShuffledFolds(UciLarge("pol"))
    with pytest.raises(ValueError, match="at least two folds"):
        ShuffledFolds(DiabetesAsUci(), count=1)
